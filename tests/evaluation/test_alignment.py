"""Predictions beside their questions: every one in its trial's row, what is missing marked, strangers refused."""

import numpy as np
import pyarrow as pa
import pytest

from coattend.errors import CoattendError
from coattend.evaluation.alignment import COLUMNS, Layout, align
from coattend.schemas import PREDICTIONS

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
    rows = aligned(ROWS)
    assert rows.correct.tolist() == [[1, 0], [0, 1]]
    assert rows.correct.dtype == float
    assert rows.f1.tolist() == [[0.75, 0], [0.25, 1]]
    assert rows.empty.tolist() == [[False, False], [False, True]]
    assert rows.missing.tolist() == [[False, True], [False, False]]
    np.testing.assert_array_equal(rows.null_score, [[1.5, np.nan], [np.nan, 0.5]])
    assert rows.of(np.array([False, True])).f1.tolist() == [[0], [1]]
    assert rows.of(np.array([1, 0])).missing.tolist() == [[True, False], [False, False]]


def test_values_of_any_kind_lie_in_the_cells_of_their_predictions():
    ids = {"question_id": [row[0] for row in ROWS], "trial_id": [row[1] for row in ROWS]}
    layout = Layout(pa.table(ids), pa.chunked_array([["a", "b"]]), ["t0", "t1"])
    pairs = layout.matrix(np.array([[1, 2], [3, 4], [5, 6], [7, 8]]), 0)
    assert pairs.tolist() == [[[3, 4], [0, 0]], [[7, 8], [1, 2]]]
    texts = layout.matrix(pa.chunked_array([[row[2] for row in ROWS]]), None)
    assert texts.tolist() == [["cat", None], ["a dog", ""]]


def test_without_predictions_all_is_missing():
    table = align(PREDICTIONS.empty_table(), pa.chunked_array([["a", "b"]]), ["t0"])
    assert table.missing.tolist() == [[True, True]]
    assert table.correct.tolist() == table.f1.tolist() == table.empty.tolist() == [[0, 0]]
    assert np.isnan(table.null_score).all()


def test_what_does_not_belong_is_refused_by_the_name_of_the_first():
    with pytest.raises(CoattendError) as refused:
        aligned([*ROWS, ("a", "old", "x", 0.0, True, 1.0), ("a", "older", "x", 0.0, True, 1.0)])
    problem = "there are predictions of trial old, which is not one of the reader's"
    assert str(refused.value) == f"predictions: {problem}. They are of an earlier training: run the evaluation again"
    with pytest.raises(CoattendError) as refused:
        aligned([*ROWS, ROWS[0]])
    assert str(refused.value) == "question b: one trial answers it more than once. Run the evaluation again"
