"""SQuAD's scores against rule tables and a slow second implementation."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

import coattend.evaluation
from coattend.errors import CoattendError
from coattend.evaluation import squad

WORDS = st.lists(st.sampled_from(["a", "The", "an", "cat", "Cat,", "dog", "-", "theatre", "é", "2 %", ""]), max_size=5)
TEXTS = WORDS.map(" ".join)
NOTHING = "there is no question to score. Give predictions for the dataset's question ids"


def dataset(*questions):
    qas = [{"id": key, "question": "?", "answers": [{"text": text} for text in golds]} for key, *golds in questions]
    return [{"title": "t", "paragraphs": [{"context": "c", "qas": qas}]}]


def slow_words(text):
    letters = "".join(character for character in text.lower() if character not in string.punctuation)
    words, word = [], ""
    for character in [*letters, " "]:
        if character.isalnum() or character == "_":
            word += character
            continue
        words.append(" " if word in ("a", "an", "the") else word)
        words.append(character)
        word = ""
    return "".join(words).split()


def slow_f1(prediction, gold, both_empty):
    predicted_words, gold_words = slow_words(prediction), slow_words(gold)
    if not predicted_words and not gold_words:
        return both_empty
    left, shared = list(gold_words), 0
    for word in predicted_words:
        if word in left:
            left.remove(word)
            shared += 1
    return 0.0 if shared == 0 else 2 * shared / (len(predicted_words) + len(gold_words))


def slow_score(predictions, data, version):
    exact = f1 = total = 0
    questions = [(qa["id"], qa) for article in data for part in article["paragraphs"] for qa in part["qas"]]
    for key, question in questions if version == "v1.1" else dict(questions).items():
        golds = [answer["text"] for answer in question["answers"]]
        if version == "v2.0":
            golds = [gold for gold in golds if slow_words(gold)] or [""]
            if key not in predictions:
                continue
        total += 1
        if key in predictions:
            exact += max(slow_words(predictions[key]) == slow_words(gold) for gold in golds)
            f1 += max(slow_f1(predictions[key], gold, float(version == "v2.0")) for gold in golds)
    return 100 * exact / total, 100 * f1 / total, total


def test_it_is_there_after_either_import():
    assert coattend.evaluation.squad.score is squad.score


def test_normalise():
    for text, normal in [
        ("The Cat", "cat"),
        ("a  an\tthe\n", ""),
        ("theatre and an other", "theatre and other"),
        ("U.S.A.", "usa"),
        ("the-cat", "thecat"),
        ("“the” cat", "“ ” cat"),
        ("İstanbul", "i̇stanbul"),
        ("a_b the_c", "ab thec"),
    ]:
        assert squad.normalise(text) == normal


def test_one_question_by_the_official_rules():
    for version, prediction, golds, exact, f1 in [
        ("v1.1", "the cat", ["a cat"], 1, 1),
        ("v1.1", "black cat", ["cat", "black dog"], 0, 2 / 3),
        ("v1.1", "", ["the"], 1, 0),
        ("v1.1", "the", ["a", "cat"], 1, 0),
        ("v1.1", "cat cat", ["cat"], 0, 2 / 3),
        ("v2.0", "", [], 1, 1),
        ("v2.0", "cat", [], 0, 0),
        ("v2.0", "", ["cat"], 0, 0),
        ("v2.0", "the", [], 1, 1),
        ("v2.0", "", ["the", "cat"], 0, 0),
        ("v2.0", "", ["the", "..."], 1, 1),
        ("v2.0", "cat", ["the", "cat"], 1, 1),
    ]:
        scores = squad.score({"q": prediction}, dataset(("q", *golds)), version=version)
        assert scores["exact"] == 100 * exact
        assert scores["f1"] == pytest.approx(100 * f1, rel=1e-12)
        assert scores["total"] == 1


def test_two_empty_answers_are_alike_by_the_rules_of_v2_unless_others_are_named():
    assert squad.f1("", "the") == squad.f1("", "the", version="v2.0") == 1
    assert squad.f1("", "the", version="v1.1") == 0
    assert squad.f1("", "cat") == squad.f1("cat", "") == squad.f1("cat", "dog") == 0


def test_a_missing_prediction_scores_nothing_in_one_version_and_is_left_out_in_the_other():
    data = dataset(("q1", "cat"), ("q2", "dog"))
    assert squad.score({"q1": "cat"}, data, version="v1.1") == {"exact": 50.0, "f1": 50.0, "total": 2}
    assert squad.score({"q1": "cat"}, data, version="v2.0") == {"exact": 100.0, "f1": 100.0, "total": 1}


def test_an_id_that_occurs_twice_is_counted_twice_or_last():
    data = dataset(("q", "cat"), ("q", "dog"))
    assert squad.score({"q": "cat"}, data, version="v1.1") == {"exact": 50.0, "f1": 50.0, "total": 2}
    assert squad.score({"q": "cat"}, data, version="v2.0") == {"exact": 0.0, "f1": 0.0, "total": 1}


def test_predictions_of_other_questions_are_ignored():
    assert squad.score({"q": "cat", "z": "x"}, dataset(("q", "cat")), version="v1.1")["total"] == 1


def test_what_cannot_be_scored_is_told():
    for predictions, data, version, problem in [
        ({}, dataset(("q", "cat")), "v2.0", NOTHING),
        ({}, [], "v1.1", NOTHING),
        (
            {"q": ""},
            dataset(("q",)),
            "v1.1",
            'a question has no gold answer, but v1.1 has no such questions. Use version="v2.0"',
        ),
        ({"q": ""}, dataset(("q",)), "2.0", "no SQuAD scorer is called '2.0'. Did you mean 'v2.0'?"),
    ]:
        with pytest.raises(CoattendError) as refused:
            squad.score(predictions, data, version=version)
        assert str(refused.value) == problem


@given(
    st.lists(st.tuples(st.sampled_from("abcdef"), st.lists(TEXTS, min_size=1, max_size=3)), min_size=1, max_size=6),
    st.dictionaries(st.sampled_from("abcdefg"), TEXTS),
    st.sampled_from(["v1.1", "v2.0"]),
)
def test_equals_the_slow_implementation(questions, predictions, version):
    data = dataset(*((key, *golds) for key, golds in questions))
    if version == "v2.0" and not any(key in predictions for key, _ in questions):
        return
    scores = squad.score(predictions, data, version=version)
    assert (scores["exact"], scores["f1"], scores["total"]) == pytest.approx(slow_score(predictions, data, version))


@given(st.text())
def test_normalising_twice_changes_nothing_more_than_articles_that_appear(text):
    once = squad.normalise(text)
    assert once == " ".join(once.split())
    assert not set(once) & set(string.punctuation)


@given(TEXTS, TEXTS)
def test_f1_is_symmetric_and_between_zero_and_one(left, right):
    for version in squad.VERSIONS:
        f1 = squad.f1(left, right, version=version)
        assert f1 == squad.f1(right, left, version=version)
        assert 0 <= f1 <= 1
