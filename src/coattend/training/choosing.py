"""Which questions are looked at: by id, or some of a split, those first where two readers differ."""

from collections.abc import Sequence

import pyarrow as pa

from coattend.errors import CoattendError, did_you_mean
from coattend.parameters import AttentionParameters
from coattend.text.identity import text_id
from coattend.training.data import QuestionSet
from coattend.training.examples import Example

BETWEEN = "+"
"""Stands between ids."""


def by_id(ids: str, asked: Sequence[QuestionSet]) -> list[str]:
    """The questions with some ids, each once, in the order given.

    Args:
        ids: Ids with ``+`` between them.
        asked: The questions of each reader.

    Raises:
        CoattendError: If one is not among them, or a reader cannot be given it.
    """
    # An id may hold a plus itself.
    names = [ids] if ids in asked[0].rows else [name for name in ids.split(BETWEEN) if name]
    for name in names:
        for questions in asked:
            _check(name, questions)
    if not names:
        raise CoattendError("names no question", where="attention.ids", cure="Give ids with + between them")
    return list(dict.fromkeys(names))


def _check(name: str, asked: QuestionSet) -> None:
    if name not in asked.rows:
        known = list(asked.rows)
        near = did_you_mean(name, known)
        cure = near if near.startswith("Did") else f"Its ids are like {known[0]!r} and {known[-1]!r}"
        problem = f"there is no question {name!r} of this task in any split but train"
        raise CoattendError(problem, where="attention.ids", cure=cure)
    reason = next((one.reason for one in asked.unreadable if one.question_id == name), None)
    if reason is not None:
        raise CoattendError(f"cannot be read: {reason}", where=f"question {name!r}", cure="Choose another one")


def of_split(parameters: AttentionParameters, asked: Sequence[QuestionSet], answered: Sequence[pa.Table]) -> list[str]:
    """As many questions of a split as wanted, drawn by their ids, in the order of the draw.

    Args:
        parameters: How many, and of which split.
        asked: The questions of each reader.
        answered: What each of two readers answered to them; those first where they differ.

    Raises:
        CoattendError: If there are none.
    """
    splits = sorted({row["split"] for row in asked[0].rows.values()})
    if parameters.split not in splits:
        cure = f"{did_you_mean(parameters.split, splits)} What was trained on is not asked again"
        raise CoattendError(f"there is no split {parameters.split!r}", where="attention.split", cure=cure)
    readable = set.intersection(*({one.question_id for one in questions.examples} for questions in asked))
    names = [name for name in readable if asked[0].rows[name]["split"] == parameters.split]
    if not names:
        cure = "Raise training.max_length of the readers, or choose another split"
        raise CoattendError("both readers can be given none of its questions", where=parameters.split, cure=cure)
    differ = _different(answered)
    return sorted(names, key=lambda name: (name not in differ, text_id(name)))[: parameters.questions]


def _different(answered: Sequence[pa.Table]) -> set[str]:
    """The questions to which two readers gave different answers."""
    if len(answered) < 2:
        return set()
    left, right = (
        dict(zip(*table.select(["question_id", "prediction"]).to_pydict().values(), strict=True)) for table in answered
    )
    return {name for name, prediction in left.items() if right.get(name) != prediction}


def examples_of(names: Sequence[str], asked: QuestionSet) -> list[Example]:
    """The questions as a reader is given them."""
    by_name = {example.question_id: example for example in asked.examples}
    return [by_name[name] for name in names]
