"""Predictions beside their questions: every one in its trial's row, what is missing marked, strangers refused."""

import numpy as np
import pyarrow as pa
import pytest

from coattend.errors import CoattendError
from coattend.evaluation.answers import COLUMNS, align
from coattend.tables import PREDICTIONS

ROWS = [
    ("b", "t1", "", 0.5, True, 1.0),
    ("a", "t0", "cat", 1.5, True, 0.75),
    ("z", "t0", "of another benchmark", 2.5, True, 1.0),
    ("a", "t1", "a dog", None, False, 0.25),
]


def aligned(rows, trials=("t0", "t1")):
    columns = [list(column) for column in zip(*rows, strict=True)]
    return align(pa.table(dict(zip(COLUMNS, columns, strict=True))), pa.chunked_array([["a", "b"]]), list(trials))


def test_each_prediction_stands_in_its_trials_row_and_its_questions_column():
    found = aligned(ROWS)
    assert found.correct.tolist() == [[1, 0], [0, 1]]
    assert found.correct.dtype == float
    assert found.f1.tolist() == [[0.75, 0], [0.25, 1]]
    assert found.empty.tolist() == [[False, False], [False, True]]
    assert found.missing.tolist() == [[False, True], [False, False]]
    np.testing.assert_array_equal(found.null_score, [[1.5, np.nan], [np.nan, 0.5]])
    assert found.of(np.array([False, True])).f1.tolist() == [[0], [1]]
    assert found.of(np.array([1, 0])).missing.tolist() == [[True, False], [False, False]]


def test_without_predictions_all_is_missing():
    found = align(PREDICTIONS.empty_table(), pa.chunked_array([["a", "b"]]), ["t0"])
    assert found.missing.tolist() == [[True, True]]
    assert found.correct.tolist() == found.f1.tolist() == found.empty.tolist() == [[0, 0]]
    assert np.isnan(found.null_score).all()


def test_what_does_not_belong_is_refused_by_the_name_of_the_first():
    with pytest.raises(CoattendError) as refused:
        aligned([*ROWS, ("a", "old", "x", 0.0, True, 1.0), ("a", "older", "x", 0.0, True, 1.0)])
    problem = "there are predictions of trial old, which is not one of the reader's"
    assert str(refused.value) == f"predictions: {problem}. They are of an earlier training: run the evaluation again"
    with pytest.raises(CoattendError) as refused:
        aligned([*ROWS, ROWS[0]])
    assert str(refused.value) == "question b: one trial answers it more than once. Run the evaluation again"
