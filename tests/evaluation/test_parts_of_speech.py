"""Parts of speech of right answers, and of the words at which answers begin and end."""

import re

import numpy as np
import pyarrow as pa
import pyarrow.dataset as pads

from coattend.config import BenchmarkParameters
from coattend.evaluation import breakdowns
from coattend.evaluation.parts_of_speech import boundary_tags, parts_of_speech, tagged
from coattend.schemas import QUESTIONS, TAGS
from coattend.text.hashing import text_id
from coattend.text.tagset import tagset

NAMES = tagset("penn").names
TAGGED = {
    "ann": "NNP", "saw": "VBD", "the": "DT", "red": "JJ", "fox": "NN", "in": "IN", "1066": "CD", "she": "PRP",
    "slept": "VBD", "quickly": "RB", ".": "ERR", ",": "ERR", "yes": "UH",
}  # fmt: skip
PASSAGE = "Ann saw the red fox in 1066 . Yes ."


def tags_of(*texts, **changed):
    rows = []
    for text in texts:
        words = list(re.finditer(r"\w+|[^\w\s]", text))
        tag_names = TAGGED | changed
        rows.append(
            {
                "text_id": text_id(text),
                "words": [word.group() for word in words],
                "tags": [NAMES.index(tag_names.get(word.group().lower(), "ERR")) for word in words],
                "starts": [word.start() for word in words],
                "ends": [word.end() for word in words],
            }
        )
    return pads.dataset(pa.Table.from_pylist(rows, TAGS))


def question_table(task, question="Who?", **columns):
    row = {"question_id": "q", "passage_id": "p", "split": "dev", "task": task, "question": question}
    return pa.Table.from_pylist([row | {"answerable": True} | columns], QUESTIONS)


def benchmark(**settings):
    source = {"format": "dream", "folder": "x", "files": {}}
    return BenchmarkParameters(name="mine", title="Mine", tasks=("options",), sources=(source,), **settings)


def part(questions, tags, **settings):
    (part_of_speech,) = parts_of_speech(questions, {"p": PASSAGE}, tags, NAMES, benchmark=benchmark(**settings))
    return part_of_speech


def test_a_span_is_what_its_first_word_is_that_is_no_article_or_the_like():
    for answer, expected in [
        ("Ann", "proper noun"),
        ("the red fox", "adjective"),
        ("fox in 1066", "noun"),
        ("in 1066", "number"),
        ("saw the", "verb"),
        ("the", "other"),
        ("Yes", "other"),
        ("ed fo", "adjective"),
    ]:
        answers = [{"text": answer, "start": PASSAGE.index(answer)}, {"text": "Ann", "start": 0}]
        assert part(question_table("span", answers=answers), tags_of(PASSAGE)) == expected


def test_that_there_is_no_answer_is_a_group_of_its_own():
    assert part(question_table("span", answers=[], answerable=False), tags_of(PASSAGE)) == "no answer"


def test_an_option_is_tagged_alone_and_in_a_blank_with_its_question():
    options = {"options": ["Ann", "slept quickly"], "label": 1}
    assert part(question_table("options", "What did she do?", **options), tags_of("Ann", "slept quickly")) == "verb"
    # Alone it would be a verb.
    cloze, alone = "In 1066 she _ .", tags_of("slept quickly")
    filled = tags_of("In 1066 she slept quickly .", slept="NN")
    tables = pads.dataset(pa.concat_tables([alone.to_table(), filled.to_table()]))
    assert part(question_table("options", cloze, **options), tables, fill_blanks=True) == "noun"
    assert part(question_table("options", cloze, **options), tables, fill_blanks=False) == "verb"


def test_a_word_is_tagged_in_the_blank_or_where_the_passage_first_holds_it():
    word = question_table("word", "Ann saw a _ .", options=["1066", "fox"], label=1)
    assert part(word, tags_of(PASSAGE)) == "noun"
    assert part(word, tags_of("Ann saw a fox .", fox="VB"), words_as_options=True) == "verb"
    missing = question_table("word", "Ann saw a _ .", options=["red", "re"], label=1)
    assert part(missing, tags_of(PASSAGE)) == "other"


def test_a_text_that_was_never_tagged_is_other():
    assert part(question_table("options", options=["Ann"], label=0), tags_of("Bob")) == "other"


def test_groups_stand_in_one_order_and_hold_every_question_once():
    parts = ["number", "other", "noun", "noun", "no answer", "proper noun"]
    questions = pa.table({breakdowns.POS: parts})
    groups = breakdowns.by_answer_pos(questions, {})
    assert list(groups) == ["noun", "proper noun", "number", "other", "no answer"]
    assert (np.sum(list(groups.values()), 0) == 1).all()


# Tags of the words at which answers begin and end.
TEXT = "Ann saw the red fox in 1066."
BOUNDARY_NAMES = ("PAD", "SPE", "ERR", "NNP", "VBD", "DT", "JJ", "NN", "IN", "CD")
WORDS = (("Ann", 3), ("saw", 4), ("the", 5), ("red", 6), ("fox", 7), ("in", 8), ("1066", 9), (".", 2))


def tagged_words():
    starts = [TEXT.index(word) for word, _ in WORDS]
    ends = [start + len(word) for start, (word, _) in zip(starts, WORDS, strict=True)]
    row = {"text_id": text_id(TEXT), "words": [word for word, _ in WORDS], "tags": [tag for _, tag in WORDS]}
    table = pa.Table.from_pylist([row | {"starts": starts, "ends": ends}], TAGS)
    return tagged({"p": TEXT, "other": "never tagged"}, pads.dataset(table), BOUNDARY_NAMES)


def counts(gold, predicted):
    questions = pa.table({
        "question_id": ["q"], "passage_id": ["p"],
        "answers": pa.array([[{"text": gold, "start": TEXT.index(gold)}]] if gold else [[]]),
    })  # fmt: skip
    start = TEXT.index(predicted)
    rows = {"question_id": ["q"], "trial_id": ["t"], "start": [start], "end": [start + len(predicted)]}
    tag_counts = boundary_tags(pa.table(rows | {"prediction": [predicted]}), questions, tagged_words())
    return {boundary: dict(tags) for boundary, tags in tag_counts._asdict().items()}


def test_both_ends_count_and_a_one_word_answer_twice():
    assert counts("the red fox", "1066") == {
        "gold": {"DT": 1, "NN": 1},
        "predicted": {"CD": 2},
        "wrong": {"DT": 1, "NN": 1},
    }


def test_a_right_end_is_not_wrong():
    assert counts("the red fox", "red fox")["wrong"] == {"DT": 1}
    assert counts("red fox", "red fox")["wrong"] == {}


def test_a_part_of_a_word_is_that_word():
    assert counts("re", "ed f")["predicted"] == {"JJ": 1, "NN": 1}


def test_a_question_without_an_answer_is_left_out():
    assert counts("", "Ann") == {"gold": {}, "predicted": {}, "wrong": {}}


def test_words_without_a_text_are_left_out():
    tokens = tagged_words()
    assert set(tokens) == {"p"}
    assert np.diff(tokens["p"].starts).min() > 0
