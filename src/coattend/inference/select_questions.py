"""Select the questions to explain: by id, or a sample of a split, first those where two readers differ."""

from collections.abc import Sequence

import pyarrow as pa

from coattend.batches.dataset import QuestionSet
from coattend.config import AttentionParameters
from coattend.errors import CoattendError, did_you_mean
from coattend.text.hashing import text_id

ID_SEPARATOR = "+"


def select_by_id(ids: str, question_sets: Sequence[QuestionSet]) -> list[str]:
    """Split a list of question ids with ``+`` between them, drop duplicates and check each with every reader."""
    # An id may contain a plus.
    question_ids = [ids] if ids in question_sets[0].rows else [part for part in ids.split(ID_SEPARATOR) if part]
    for question_id in question_ids:
        for questions in question_sets:
            _check(question_id, questions)
    if not question_ids:
        raise CoattendError("names no question", where="attention.ids", cure="Give ids with + between them")
    return list(dict.fromkeys(question_ids))


def _check(question_id: str, questions: QuestionSet) -> None:
    if question_id not in questions.rows:
        valid_ids = list(questions.rows)
        cure = did_you_mean(question_id, valid_ids)
        if not cure.startswith("Did"):
            cure = f"Its ids are like {valid_ids[0]!r} and {valid_ids[-1]!r}"
        problem = f"there is no question {question_id!r} of this task in any split but train"
        raise CoattendError(problem, where="attention.ids", cure=cure)
    reason = next((entry.reason for entry in questions.unreadable if entry.question_id == question_id), None)
    if reason is not None:
        raise CoattendError(f"cannot be read: {reason}", where=f"question {question_id!r}", cure="Choose another one")


def select_from_split(
    parameters: AttentionParameters, question_sets: Sequence[QuestionSet], predictions: Sequence[pa.Table]
) -> list[str]:
    """Sample questions of a split by a hash of their ids; those that two readers' predictions differ on come first."""
    rows = question_sets[0].rows
    splits = sorted({row["split"] for row in rows.values()})
    if parameters.split not in splits:
        cure = f"{did_you_mean(parameters.split, splits)} What was trained on is not asked again"
        raise CoattendError(f"there is no split {parameters.split!r}", where="attention.split", cure=cure)
    # Every reader must be able to read them.
    readable = set.intersection(*({example.question_id for example in each.examples} for each in question_sets))
    question_ids = [question_id for question_id in readable if rows[question_id]["split"] == parameters.split]
    if not question_ids:
        cure = "Raise training.max_length of the readers, or choose another split"
        readers = "both readers" if len(question_sets) > 1 else "the reader"
        problem = f"the split {parameters.split!r} has no question that {readers} can be given"
        raise CoattendError(problem, where="attention.split", cure=cure)
    differing = _differing(predictions)
    ordered = sorted(question_ids, key=lambda question_id: (question_id not in differing, text_id(question_id)))
    return ordered[: parameters.questions]


def _differing(predictions: Sequence[pa.Table]) -> set[str]:
    """Return the questions to which two readers gave different answers."""
    if len(predictions) < 2:
        return set()
    left, right = (
        dict(zip(*table.select(["question_id", "prediction"]).to_pydict().values(), strict=True))
        for table in predictions
    )
    return {question_id for question_id, prediction in left.items() if right.get(question_id) != prediction}
