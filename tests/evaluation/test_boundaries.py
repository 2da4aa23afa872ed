"""Parts of speech of the words at which answers begin and end."""

import numpy as np
import pyarrow as pa
import pyarrow.dataset as pads

from coattend.evaluation.boundaries import boundary_tags, tagged
from coattend.tables import TAGS
from coattend.text.identity import text_id

TEXT = "Ann saw the red fox in 1066."
NAMES = ("PAD", "SPE", "ERR", "NNP", "VBD", "DT", "JJ", "NN", "IN", "CD")
WORDS = (("Ann", 3), ("saw", 4), ("the", 5), ("red", 6), ("fox", 7), ("in", 8), ("1066", 9), (".", 2))


def words():
    starts = [TEXT.index(word) for word, _ in WORDS]
    ends = [start + len(word) for start, (word, _) in zip(starts, WORDS, strict=True)]
    row = {"text_id": text_id(TEXT), "words": [word for word, _ in WORDS], "tags": [tag for _, tag in WORDS]}
    table = pa.Table.from_pylist([row | {"starts": starts, "ends": ends}], TAGS)
    return tagged({"p": TEXT, "other": "never tagged"}, pads.dataset(table), NAMES)


def counts(gold, predicted):
    questions = pa.table({
        "question_id": ["q"], "passage_id": ["p"],
        "answers": pa.array([[{"text": gold, "start": TEXT.index(gold)}]] if gold else [[]]),
    })  # fmt: skip
    start = TEXT.index(predicted)
    rows = {"question_id": ["q"], "trial_id": ["t"], "start": [start], "end": [start + len(predicted)]}
    found = boundary_tags(pa.table(rows | {"prediction": [predicted]}), questions, words())
    return {kind: dict(tags) for kind, tags in found.items()}


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
    found = words()
    assert set(found) == {"p"}
    assert np.diff(found["p"].starts).min() > 0
