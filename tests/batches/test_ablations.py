"""A part of a question is read: what is taken away is gone, the rest is as it was."""

import numpy as np
import pytest

from coattend.batches.ablations import drop_inputs
from coattend.batches.examples import Example
from coattend.batches.tokens import Tokens
from coattend.errors import CoattendError
from coattend.text.hashing import text_id

LENGTHS = {"passage": 40, "question": 5, "yes": 2, "no": 3, "other": 30}
ROWS = {name: row for row, name in enumerate(LENGTHS)}


def tokens():
    offsets = np.cumsum([0, *LENGTHS.values()])
    numbers = np.arange(offsets[-1], dtype=np.int32)
    ids = {text_id(name): row for name, row in ROWS.items()}
    return Tokens(ids, offsets, numbers, (numbers % 30).astype(np.int8), numbers, numbers + 1, "tagger", "tokenizer")


def example(**changed):
    sequences = tuple((ROWS["question"], ROWS[option]) for option in ("yes", "no"))
    fields = {"sequences": sequences, "lengths": (7, 8), "windows": ((0, 40), (0, 40)), "label": 1, "spans": ()}
    return Example("q", ROWS["passage"], **(fields | changed))


def read(reads, *examples):
    return drop_inputs(examples or [example()], tokens(), reads)


def test_everything_is_as_it_was():
    (ablated,), read_tokens = read("all")
    assert ablated == example()
    assert read_tokens.digest(range(5)) == tokens().digest(range(5))


def test_of_a_passage_the_first_token_is_left():
    (ablated,), _ = read("no_passage")
    assert ablated.windows == ((0, 1), (0, 1))
    assert (ablated.sequences, ablated.lengths, ablated.label) == (example().sequences, (7, 8), 1)


def test_windows_without_their_passage_are_one():
    windows = ((0, 20), (0, 20), (12, 28), (12, 28))
    (ablated,), _ = read("no_passage", example(sequences=2 * example().sequences, lengths=(7, 8) * 2, windows=windows))
    assert ablated == example(windows=((0, 1), (0, 1)))


def test_without_the_question_options_are_left():
    (ablated,), _ = read("no_question")
    assert ablated.sequences == ((ROWS["yes"],), (ROWS["no"],))
    assert ablated.lengths == (2, 3)
    assert ablated.windows == example().windows
    (ablated,), _ = read("options_only")
    assert (ablated.sequences, ablated.windows) == (((ROWS["yes"],), (ROWS["no"],)), ((0, 1), (0, 1)))


def test_an_option_that_fills_a_blank_stays_whole():
    filled = {"sequences": ((ROWS["yes"],), (ROWS["no"],)), "lengths": (2, 3)}
    assert list(read("no_question", example(**filled))[0]) == [example(**filled)]


def test_a_shuffled_passage_has_its_words_with_their_tags_and_nothing_else_is_touched():
    (ablated,), shuffled = read("shuffled_passage")
    assert ablated == example()
    original, where = tokens(), tokens().slice(ROWS["passage"])
    pairs = [sorted(zip(t.input_ids[where], t.tag_ids[where], strict=True)) for t in (original, shuffled)]
    assert pairs[0] == pairs[1]
    assert (original.input_ids[where] != shuffled.input_ids[where]).mean() > 0.8
    other_rows = [row for row in ROWS.values() if row != ROWS["passage"]]
    assert original.digest(other_rows) == shuffled.digest(other_rows)
    assert shuffled.digest([0]) == read("shuffled_passage")[1].digest([0])


@pytest.mark.parametrize(
    ("reads", "changed", "problem"),
    [
        ("no_passage", {"spans": ((0, 3),)}, "is for questions with options"),
        ("options_only", {"candidates": ("a", "b")}, "is for questions with options"),
    ],
)
def test_what_cannot_be_taken_away_is_refused(reads, changed, problem):
    with pytest.raises(CoattendError, match=problem):
        read(reads, example(**changed))
