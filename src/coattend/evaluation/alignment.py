"""Align predictions with questions: one row per trial, one column per question."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from coattend.errors import CoattendError

COLUMNS = ["question_id", "trial_id", "prediction", "null_score", "correct", "f1"]
"""Columns of a predictions table that `align` reads."""


class Layout:
    """The cell of each prediction in a matrix of trials and questions; predictions of other questions are left out.

    Raises:
        CoattendError: If a prediction is of another trial, or a trial answers a question twice.
    """

    def __init__(self, predictions: pa.Table, question_ids: pa.ChunkedArray, trials: Sequence[str]) -> None:
        # The row of each prediction; null for a trial that is not among the reader's.
        trial = pc.index_in(predictions["trial_id"], value_set=pa.array(trials, pa.string()))
        if trial.null_count:
            stranger = predictions["trial_id"].filter(pc.is_null(trial))[0].as_py()
            raise CoattendError(
                f"there are predictions of trial {stranger}, which is not one of the reader's",
                where="predictions",
                cure="They are of an earlier training: run the evaluation again",
            )
        # The column of each prediction; null for a question that is not scored here.
        column = pc.index_in(predictions["question_id"], value_set=question_ids)
        self._is_asked = pc.is_valid(column).to_numpy()
        self._cells = (trial.to_numpy()[self._is_asked], column.drop_null().to_numpy())
        self._shape = (len(trials), len(question_ids))
        # Flat numbers of the cells let one pass count the predictions that fall into each.
        flat = np.ravel_multi_index(self._cells, self._shape)
        counts = np.bincount(flat, minlength=self._shape[0] * self._shape[1]).reshape(self._shape)
        if np.any(counts > 1):
            question_id = question_ids[int(np.argwhere(counts > 1)[0][1])].as_py()
            raise CoattendError(
                "one trial answers it more than once", where=f"question {question_id}", cure="Run the evaluation again"
            )
        self.missing = counts == 0  # No prediction [trials, questions], bool.

    def matrix(self, values: pa.ChunkedArray | np.ndarray, fill: float | bool | None) -> np.ndarray:
        """Put the value of each prediction into its cell [trials, questions, ...]; other cells keep the fill."""
        rows = values if isinstance(values, np.ndarray) else values.to_numpy()
        matrix = np.full((*self._shape, *rows.shape[1:]), fill)
        matrix[self._cells] = rows[self._is_asked]
        return matrix


@dataclass(frozen=True)
class Answers:
    """Answers of several trials to the same questions [trials, questions]."""

    correct: np.ndarray  # 1 if right, 0 if wrong or missing.
    f1: np.ndarray  # From 0 to 1, 0 where missing.
    empty: np.ndarray  # True where "no answer" was predicted.
    null_score: np.ndarray  # Score of "no answer"; NaN if the reader gives none.
    missing: np.ndarray  # True where there is no prediction.

    def of(self, questions: np.ndarray) -> "Answers":
        """Return the answers to some questions, selected by a mask or by index."""
        return Answers(**{name: values[:, questions] for name, values in vars(self).items()})


def align(predictions: pa.Table, question_ids: pa.ChunkedArray, trials: Sequence[str]) -> Answers:
    """Arrange predictions, with the columns `COLUMNS`, by trial and question; see `Layout`."""
    layout = Layout(predictions, question_ids, trials)
    return Answers(
        correct=layout.matrix(predictions["correct"], False).astype(float),
        f1=layout.matrix(predictions["f1"], 0.0),
        empty=layout.matrix(pc.equal(predictions["prediction"], ""), False),
        null_score=layout.matrix(predictions["null_score"], np.nan),
        missing=layout.missing,
    )
