"""What two trials answered, question by question."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from coattend.errors import CoattendError
from coattend.evaluation.breakdowns import gold_answers
from coattend.evaluation.groups import members, scored_questions
from coattend.tables import COMPARED

WINNERS = ("left", "right", "both", "neither")
"""Who answered a question correctly."""


@dataclass(frozen=True)
class SideBySide:
    """Two trials on the questions that both were asked.

    Attributes:
        task: What they answer: ``options``, ``word`` or ``span``.
        table: A table of the schema `coattend.tables.COMPARED`. An answer that a trial left out is null and wrong.
        left_out: Splits that one of the two was not asked, and how many questions they have.
    """

    task: str
    table: pa.Table
    left_out: dict[str, int]


def side_by_side(questions: pa.Table, left: pa.Table, right: pa.Table) -> SideBySide:
    """Lay two trials' answers beside the questions of every split but train.

    Args:
        questions: A questions table.
        left: The predictions of one trial.
        right: Those of the other.

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
    asked, _ = scored_questions(questions, task)
    ours, theirs = _answers(asked, left), _answers(asked, right)
    in_both, left_out = np.zeros(len(asked), dtype=bool), {}
    for split, rows in members(asked["split"]).items():
        if all(_given(side)[rows].any() for side in (ours, theirs)):
            in_both |= rows
        else:
            left_out[split] = int(rows.sum())
    if not in_both.any():
        cure = "Run the pipeline evaluation of both, on the same files"
        raise CoattendError("no split was answered by both trials", where="compare", cure=cure)
    return SideBySide(task, _table(*(part.filter(pa.array(in_both)) for part in (asked, ours, theirs))), left_out)


def is_correct(table: pa.Table, side: str) -> np.ndarray:
    """Whether a side, ``left`` or ``right``, answered correctly, for spans exactly [questions], bool."""
    winner = table["winner"].cast(pa.string())
    correct: np.ndarray = pc.is_in(winner, value_set=pa.array([side, "both"])).to_numpy()
    return correct


def _task(questions: pa.Table, predictions: pa.Table) -> str:
    """What the questions that were answered ask for; a trial has one head and so one task."""
    answered = questions.filter(pc.is_in(questions["question_id"], value_set=predictions["question_id"]))
    task: str = answered["task"].cast(pa.string())[0].as_py()
    return task


def _answers(asked: pa.Table, predictions: pa.Table) -> pa.Table:
    """A row for each question, of nulls where there is no prediction."""
    return predictions.take(pc.index_in(asked["question_id"], value_set=predictions["question_id"]))


def _given(predictions: pa.Table) -> np.ndarray:
    given: np.ndarray = pc.is_valid(predictions["prediction"]).to_numpy()
    return given


def _table(asked: pa.Table, left: pa.Table, right: pa.Table) -> pa.Table:
    ours, theirs = (pc.fill_null(side["correct"], False).to_numpy() for side in (left, right))
    winner = np.select([ours & theirs, ours, theirs], ["both", "left", "right"], "neither")
    columns = [
        *(asked[name] for name in ("question_id", "passage_id", "split", "subset", "question")),
        pa.array([list(dict.fromkeys(texts)) for texts in gold_answers(asked)], COMPARED.field("gold").type),
        *(side["prediction"] for side in (left, right)),
        *(pc.fill_null(side["f1"], 0.0) for side in (left, right)),
        pa.array(winner.tolist(), COMPARED.field("winner").type),
    ]
    return pa.Table.from_arrays(columns, schema=COMPARED)
