"""Which questions are scored, and the groups that they are scored in."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

TRAINING_SPLIT = "train"
EVERYTHING = "all"
"""Name of the group that holds all questions of a split; its subsets stand beside it."""

COLUMNS = ["question_id", "passage_id", "split", "subset", "task", "label", "answers", "answerable", "question_types"]
"""The columns of questions that are read."""


def scored_questions(questions: pa.Table, task: str) -> tuple[pa.Table, pa.Table]:
    """The questions of a task that are not trained on.

    Args:
        questions: The columns `COLUMNS` of a questions table.
        task: ``options``, ``word`` or ``span``.

    Returns:
        Those whose answer is known, and those whose answer is not.
    """
    own = pc.and_(
        pc.equal(questions["task"].cast(pa.string()), task),
        pc.not_equal(questions["split"].cast(pa.string()), TRAINING_SPLIT),
    )
    held = questions.filter(own)
    labelled = pc.is_valid(held["answers" if task == "span" else "label"])
    return held.filter(labelled), held.filter(pc.invert(labelled))


def members(names: pa.ChunkedArray) -> dict[str, np.ndarray]:
    """For each distinct value of a column, in alphabetical order, a mask of the rows that have it [questions]."""
    values = names.cast(pa.string())
    return {
        name: pc.fill_null(pc.equal(values, name), False).to_numpy()
        for name in sorted(pc.unique(values).drop_null().to_pylist())
    }


def subsets(questions: pa.Table, whole: str = EVERYTHING) -> dict[str, np.ndarray]:
    """All questions and each subset, as masks [questions].

    Args:
        questions: With the column ``subset``.
        whole: What all of them are called.
    """
    return {whole: np.ones(len(questions), dtype=bool)} | members(questions["subset"])


def types(questions: pa.Table) -> dict[str, np.ndarray]:
    """Each question type as a mask [questions]; a question of several types is in each of them."""
    column = questions["question_types"].combine_chunks()
    parents = pc.list_parent_indices(column).to_numpy()
    masks = {}
    for name, mentions in members(pa.chunked_array([pc.list_flatten(column)])).items():
        masks[name] = np.zeros(len(questions), dtype=bool)
        masks[name][parents[mentions]] = True
    return masks


def within(split: np.ndarray, groups: dict[str, np.ndarray]) -> Iterator[tuple[str, np.ndarray]]:
    """The groups' rows inside a split, without groups that have none there."""
    for name, group in groups.items():
        if np.any(split & group):
            yield name, split & group


def passage_numbers(questions: pa.Table) -> np.ndarray:
    """A number for each question's passage [questions]."""
    numbers: np.ndarray = questions["passage_id"].combine_chunks().dictionary_encode().indices.to_numpy()
    return numbers
