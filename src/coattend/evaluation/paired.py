"""Compare the answers of two trials question by question."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from coattend.errors import CoattendError
from coattend.evaluation.breakdowns import gold_answers
from coattend.evaluation.groups import members, scored_questions
from coattend.schemas import COMPARED

WINNERS = ("left", "right", "both", "neither")
"""Who answered a question correctly."""


@dataclass(frozen=True)
class SideBySide:
    """Two trials on the questions that both were asked."""

    task: str
    table: pa.Table  # Rows of the schema `COMPARED`; a missing answer is null and wrong.
    left_out: dict[str, int]  # Splits that one of the two was not asked, and how many questions they have.


def side_by_side(questions: pa.Table, left: pa.Table, right: pa.Table) -> SideBySide:
    """Lay the predictions of two trials beside the questions of every split but train.

    Raises:
        CoattendError: If they answer different tasks, or no split has answers of both.
    """
    task, other = _task(questions, left), _task(questions, right)
    if task != other:
        raise CoattendError(
            f"one trial answers {task}, the other {other}: they have no question in common",
            where="compare",
            cure="Choose two whose heads answer the same questions",
        )
    labelled, _ = scored_questions(questions, task)
    left_answers, right_answers = _answers(labelled, left), _answers(labelled, right)
    in_both, left_out = np.zeros(len(labelled), dtype=bool), {}
    for split, rows in members(labelled["split"]).items():
        # All questions of a split that one trial was never asked would count as wrong; it is listed instead.
        if all(side["prediction"].is_valid().to_numpy()[rows].any() for side in (left_answers, right_answers)):
            in_both |= rows
        else:
            left_out[split] = int(rows.sum())
    if not in_both.any():
        cure = "Run the pipeline evaluation of both, on the same files"
        raise CoattendError("no split was answered by both trials", where="compare", cure=cure)
    answered = (part.filter(pa.array(in_both)) for part in (labelled, left_answers, right_answers))
    return SideBySide(task, _table(*answered), left_out)


def is_correct(table: pa.Table, side: str) -> np.ndarray:
    """Mask of the questions that a side (``left``, ``right``) answered correctly, spans exactly [questions]."""
    correct: np.ndarray = pc.is_in(table["winner"].cast(pa.string()), pa.array([side, "both"])).to_numpy()
    return correct


def _task(questions: pa.Table, predictions: pa.Table) -> str:
    """Return the task of the questions that a trial answered; it has one head and so one task."""
    answered = questions.filter(pc.is_in(questions["question_id"], value_set=predictions["question_id"]))
    task: str = answered["task"].cast(pa.string())[0].as_py()
    return task


def _answers(questions: pa.Table, predictions: pa.Table) -> pa.Table:
    """A row for each question, of nulls where there is no prediction."""
    return predictions.take(pc.index_in(questions["question_id"], value_set=predictions["question_id"]))


def _table(questions: pa.Table, left: pa.Table, right: pa.Table) -> pa.Table:
    left_correct, right_correct = (pc.fill_null(side["correct"], False).to_numpy() for side in (left, right))
    # `select` takes the first condition that holds, so the second and third mean one side alone.
    winner = np.select(
        [left_correct & right_correct, left_correct, right_correct], ["both", "left", "right"], "neither"
    )
    columns = [
        *(questions[name] for name in ("question_id", "passage_id", "group", "split", "subset", "question")),
        # Annotators often agree: each text stands once, in its first position.
        pa.array([list(dict.fromkeys(texts)) for texts in gold_answers(questions)], COMPARED.field("gold").type),
        *(side["prediction"] for side in (left, right)),
        *(pc.fill_null(side["f1"], 0.0) for side in (left, right)),
        pa.array(winner.tolist(), COMPARED.field("winner").type),
    ]
    return pa.Table.from_arrays(columns, schema=COMPARED)
