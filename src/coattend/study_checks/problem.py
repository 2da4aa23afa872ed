"""What can be wrong in a study's file, and where it stands."""

from collections.abc import Collection, Iterable, Iterator
from typing import Any, NamedTuple

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
        yield Problem(path, f"there is no {kind} {name!r} here", did_you_mean(name, list(known)))


def of_training(path: tuple[Any, ...], given: Iterable[str]) -> Iterator[Problem]:
    """Fields that training does not have."""
    for field in given:
        yield from unknown((*path, field), field, list(TrainingParameters.model_fields), "field of training")
