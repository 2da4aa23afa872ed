"""Ties: a word that is no better than another is not found."""

import pyarrow as pa
import pytest

from coattend.tables import QUESTIONS
from coattend.training.answers import Answer
from coattend.training.data import QuestionSet
from coattend.training.examples import Example
from coattend.training.marking import mark


@pytest.mark.parametrize(
    ("task", "options", "scores", "correct"),
    [
        ("word", ["a", "b", "c"], (2.0, 1.0, 0.0), True),
        ("word", ["a", "b", "c"], (1.0, 2.0, 0.0), False),
        ("word", ["a", "b", "c"], (2.0, 2.0, 0.0), False),
        ("word", ["a", "a", "c"], (2.0, 2.0, 0.0), True),
        ("options", ["a", "b", "c"], (2.0, 2.0, 0.0), True),
    ],
)
def test_a_tie_is_wrong_for_words_and_the_first_for_options(task, options, scores, correct):
    row = dict.fromkeys(QUESTIONS.names) | {
        "question_id": "1",
        "passage_id": "p",
        "split": "dev",
        "task": task,
        "question": "_ ?",
        "options": options,
        "label": 0,
        "answerable": True,
    }
    example = Example("1", 0, ((0,),), (1,), ((0, 1),), 0, ())
    asked = QuestionSet(pa.Table.from_pylist([row], QUESTIONS), {"1": "a b c"}, None, [example], [])
    table = mark([Answer(example, scores)], asked, trial_id="t", seed=0, threshold=None)
    assert table.column("correct").to_pylist() == [correct]
    assert table.column("f1").to_pylist() == [float(correct)]
