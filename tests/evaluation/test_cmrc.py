"""CMRC 2018's scores by hand, and against a slow second form of its script."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coattend.errors import CoattendError
from coattend.evaluation import cmrc, span_scorer
from coattend.text.word_tokenizer import word_tokenizer

LISTED = [*"-:_*^/\\~`+=", *"，。：？！“”；’《》", "……", *"·、「」（）－～『』"]
TEXTS = st.lists(
    st.sampled_from(["京", "北", "大学", "，", "《", "……", "…", " ", "NBA", "Cat", "3.5", "1990", '"', "'s", "龦"])
).map("".join)


def slow_tokens(text):
    tokens, run = [], ""
    for character in [*text.lower().strip(), None]:
        if character is not None and character in LISTED:
            continue
        if character is None or 0x4E00 <= ord(character) <= 0x9FA5:
            tokens += word_tokenizer(plain=False).tokenize(run)
            tokens += [character] * (character is not None)
            run = ""
        else:
            run += character
    return tokens


def slow_f1(prediction, gold):
    predicted, true = slow_tokens(prediction), slow_tokens(gold)
    runs = {tuple(true[start:end]) for start in range(len(true)) for end in range(start + 1, len(true) + 1)}
    shared = max(
        (
            end - start
            for start in range(len(predicted))
            for end in range(start + 1, len(predicted) + 1)
            if tuple(predicted[start:end]) in runs
        ),
        default=0,
    )
    return 2 * shared / (len(predicted) + len(true)) if shared else 0.0


def slow_exact(prediction, gold):
    stripped = ["".join(char for char in text.lower().strip() if char not in LISTED) for text in (prediction, gold)]
    return stripped[0] == stripped[1]


@given(TEXTS, st.lists(TEXTS, min_size=1, max_size=3))
def test_the_best_answer_counts(prediction, golds):
    exact, f1 = cmrc.best(prediction, golds)
    assert exact == max(slow_exact(prediction, gold) for gold in golds)
    assert f1 == pytest.approx(max(slow_f1(prediction, gold) for gold in golds))


def test_tokens_are_characters_and_nltks_words_between_them():
    for text, tokens in [
        ("北京，大学", "北 京 大 学"),
        (" 《NBA》球星 Kobe's ", "nba 球 星 kobe 's"),
        ("1990年3.5万人", "1990 年 3.5 万 人"),
        ("他说……好…", "他 说 …… 好 …"),
        ("He left. She came", "he left . she came"),
        ("Mr. Lee of the U.S. army", "mr. lee of the u.s. army"),
        ("a-b", "ab"),
        ("，。", ""),
        ("", ""),
    ]:
        assert " ".join(cmrc.tokens(text)) == tokens


def test_scores_by_hand():
    for prediction, golds, exact, f1 in [
        ("北京大学", ["北京大学"], 1, 1),
        ("《北京》，大学。", ["北京大学"], 1, 1),
        ("NBA", ["nba"], 1, 1),
        ("北京大学", ["北京的大学"], 0, 4 / 9),  # the longest common substring, and no bag of characters
        ("大学", ["北京大学", "大"], 0, 2 / 3),
        ("大学", ["上海", "北京大学"], 0, 2 / 3),
        ("学大", ["大学"], 0, 1 / 2),
        ("北 京", ["北京"], 0, 1),  # spaces count for exact match alone
        ("，", ["。"], 1, 0),  # nothing is left of either: equal, without a common token
        ("", ["北京"], 0, 0),
        ("", [], 1, 1),
        ("北京", [], 0, 0),
    ]:
        assert cmrc.best(prediction, golds) == (exact, pytest.approx(f1)), prediction


def test_a_missing_answer_scores_nothing_and_is_counted():
    qas = [{"id": key, "question": "?", "answers": [{"text": gold}]} for key, gold in (("q1", "北京"), ("q2", "上海"))]
    data = [{"title": "t", "paragraphs": [{"context": "c", "qas": qas}]}]
    assert cmrc.score({"q1": "北京市", "other": "上海"}, data) == {
        "exact": 0.0,
        "f1": 40.0,
        "average": 20.0,
        "total": 2,
    }
    assert cmrc.score({}, data)["f1"] == 0
    with pytest.raises(CoattendError, match="there is no question to score"):
        cmrc.score({"q": ""}, [])


def test_a_benchmark_names_its_scorer():
    by_characters, by_words = span_scorer("cmrc"), span_scorer("squad")
    assert by_characters.best("北京市", ["北京"]) == (0, pytest.approx(4 / 5))
    assert by_words.best("北京市", ["北京"]) == (0, 0)
    assert by_characters.normalise("《北京》") == "北京"
    assert span_scorer("squad", version="v1.1").best("the", ["a"]) == (1, 0)
