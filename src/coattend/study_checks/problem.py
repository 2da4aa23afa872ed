"""What can be wrong in a study's file, and where it stands."""

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from pydantic import ValidationError

from coattend.errors import did_you_mean
from coattend.parameters import TrainingParameters


class Problem(NamedTuple):
    """Something that cannot be.

    Attributes:
        path: Where it stands in the study's entry.
        what: What is wrong.
        cure: What to do about it.
    """

    path: tuple[Any, ...]
    what: str
    cure: str | None


def unknown(path: tuple[Any, ...], name: str, known: Collection[str], kind: str) -> Iterator[Problem]:
    """A name that is not among those that are known."""
    if name not in known:
        yield Problem(path, f"there is no {kind} {name!r} here", did_you_mean(str(name), list(known)))


def of_training(path: tuple[Any, ...], given: Mapping[str, Any]) -> Iterator[Problem]:
    """Fields that training does not have, that are the study's, or that cannot have such a value."""
    for field, value in given.items():
        if field == "seeds":
            yield Problem((*path, field), "seeds are the study's, the same for all its variants", "Say its own: seeds")
        elif field in TrainingParameters.model_fields:
            yield from of_value((*path, field), field, value)
        else:
            yield from unknown((*path, field), field, list(TrainingParameters.model_fields), "field of training")


def of_value(path: tuple[Any, ...], field: str, value: Any) -> Iterator[Problem]:
    """A value that a field of training refuses."""
    try:
        TrainingParameters.model_validate({field: value})
    except ValidationError as error:
        yield refused(path, field, value, error)


def refused(path: tuple[Any, ...], field: str, value: Any, error: ValidationError) -> Problem:
    """A value that a field cannot have, and why."""
    first = error.errors()[0]
    return Problem(path, f"{field} cannot be {_written(value)}: {first['msg']}", nearest_choice(first))


def _written(value: Any) -> str:
    """A value as YAML has it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def nearest_choice(error: Mapping[str, Any]) -> str | None:
    """The cure where pydantic wants one of several words; None where it wants anything else."""
    known = re.findall("'([^']*)'", error["ctx"]["expected"]) if error["type"] == "literal_error" else []
    return did_you_mean(str(error["input"]), known) if known else None
