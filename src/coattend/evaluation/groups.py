"""Select the questions that are scored, and divide them into splits, subsets and question types.

A *group* of questions is here any part of them that is scored by itself. Those of the column ``group``, whose passages
overlap, are the *independent units* of intervals and tests; `group_numbers` counts them.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    import pyarrow.dataset as pads  # Imports pandas, which every command would wait for.

    from coattend.config import BenchmarkParameters

TRAINING_SPLIT = "train"
EVERYTHING = "all"
"""Name of the group that holds all questions of a split; its subsets stand beside it."""

COLUMNS = [
    *("question_id", "passage_id", "group", "split", "subset", "task"),
    *("label", "answers", "answerable", "question_types"),
]
"""Columns of a questions table that scoring reads."""


def scored_questions(questions: pa.Table, task: str) -> tuple[pa.Table, pa.Table]:
    """Select a task's questions outside of the training split: those with a gold answer, and those without one."""
    in_scope = pc.and_(
        pc.equal(questions["task"].cast(pa.string()), task),
        pc.not_equal(questions["split"].cast(pa.string()), TRAINING_SPLIT),
    )
    questions_of_task = questions.filter(in_scope)
    # Unknown answers are null; an empty list says that a span question has none.
    labelled = pc.is_valid(questions_of_task["answers" if task == "span" else "label"])
    return questions_of_task.filter(labelled), questions_of_task.filter(pc.invert(labelled))


def share_moved_from_dev(
    benchmark: "BenchmarkParameters", questions: "pads.Dataset", passages: "pads.Dataset"
) -> float | None:
    """Return ``train_from_dev`` if training and dev questions come from the same files; None if nothing was moved, as
    where there is a file of training questions."""
    if benchmark.train_from_dev is None:
        return None
    sources = passages.to_table(columns=["passage_id", "source"])
    rows = questions.to_table(columns=["passage_id", "split"]).join(sources, "passage_id")
    files = {
        split: set(rows.filter(pc.equal(rows["split"].cast(pa.string()), split))["source"].to_pylist())
        for split in (TRAINING_SPLIT, "dev")
    }
    return None if files[TRAINING_SPLIT].isdisjoint(files["dev"]) else benchmark.train_from_dev


def members(names: pa.ChunkedArray) -> dict[str, np.ndarray]:
    """Return a mask of rows for each distinct value of a column, in alphabetical order [questions]."""
    values = names.cast(pa.string())
    return {
        name: pc.fill_null(pc.equal(values, name), False).to_numpy()
        for name in sorted(pc.unique(values).drop_null().to_pylist())
    }


def subsets(questions: pa.Table, whole: str = EVERYTHING) -> dict[str, np.ndarray]:
    """Return masks of all questions, under the name ``whole``, and of each subset [questions]."""
    return {whole: np.ones(len(questions), dtype=bool)} | members(questions["subset"])


def types(questions: pa.Table) -> dict[str, np.ndarray]:
    """Return a mask for each question type [questions]; a question of several types is in each of them."""
    column = questions["question_types"].combine_chunks()
    # The row of the question that each flattened type belongs to.
    parents = pc.list_parent_indices(column).to_numpy()
    masks = {}
    for name, mentions in members(pa.chunked_array([pc.list_flatten(column)])).items():
        masks[name] = np.zeros(len(questions), dtype=bool)
        masks[name][parents[mentions]] = True
    return masks


def within(split: np.ndarray, groups: dict[str, np.ndarray]) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the part of each group inside a split; skip groups without questions there."""
    for name, group in groups.items():
        if np.any(split & group):
            yield name, split & group


def group_numbers(questions: pa.Table) -> np.ndarray:
    """Return the number of each question's independent unit, in the order in which they occur [questions].

    Questions whose passages overlap have one number: one unit of intervals and tests.
    """
    numbers: np.ndarray = questions["group"].combine_chunks().dictionary_encode().indices.to_numpy()
    return numbers
