"""Align predictions with questions: one row per trial, one column per question."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from coattend.errors import CoattendError

COLUMNS = ["question_id", "trial_id", "prediction", "null_score", "correct", "f1"]
"""Columns of a predictions table that `align` reads."""


@dataclass(frozen=True)
class Answers:
    """Answers of several trials to the same questions.

    Attributes:
        correct: 1 if right, 0 if wrong or missing [trials, questions].
        f1: F1 from 0 to 1, 0 where missing [trials, questions].
        empty: True where "no answer" was predicted [trials, questions], bool.
        null_score: Score of "no answer"; NaN if the reader gives none [trials, questions].
        missing: True where there is no prediction [trials, questions], bool.
    """

    correct: np.ndarray
    f1: np.ndarray
    empty: np.ndarray
    null_score: np.ndarray
    missing: np.ndarray

    def of(self, questions: np.ndarray) -> "Answers":
        """Return the answers to some questions, selected by a mask or by index."""
        return Answers(**{name: values[:, questions] for name, values in vars(self).items()})


def align(predictions: pa.Table, question_ids: pa.ChunkedArray, trials: Sequence[str]) -> Answers:
    """Arrange predictions by trial and question.

    Args:
        predictions: The columns `COLUMNS` of a predictions table, in any order of rows.
        question_ids: The questions, each once. Predictions of other questions are left out.
        trials: Ids of the trials.

    Returns:
        The answers, missing ones marked.

    Raises:
        CoattendError: If a prediction is of another trial, or a trial answers a question twice.
    """
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
    is_asked = pc.is_valid(column)
    predictions = predictions.filter(is_asked)
    cells = (trial.filter(is_asked).to_numpy(), column.drop_null().to_numpy())
    shape = (len(trials), len(question_ids))
    # Flat numbers of the cells let one pass count the predictions that fall into each.
    counts = np.bincount(np.ravel_multi_index(cells, shape), minlength=shape[0] * shape[1]).reshape(shape)
    if np.any(counts > 1):
        question_id = question_ids[int(np.argwhere(counts > 1)[0][1])].as_py()
        raise CoattendError(
            "one trial answers it more than once", where=f"question {question_id}", cure="Run the evaluation again"
        )

    # Every value goes to its trial's row and its question's column; missing ones keep the fill.
    def laid_out(values: pa.ChunkedArray, fill: float | bool) -> np.ndarray:
        table = np.full(shape, fill)
        table[cells] = values.to_numpy()
        return table

    return Answers(
        correct=laid_out(predictions["correct"], False).astype(float),
        f1=laid_out(predictions["f1"], 0.0),
        empty=laid_out(pc.equal(predictions["prediction"], ""), False),
        null_score=laid_out(predictions["null_score"], np.nan),
        missing=counts == 0,
    )
