"""Paths into nested records, such as ``data[].paragraphs[].qas[]``, and what they lead to.

A path is keys behind dots, ``[]`` for each element of a list, or ``[2]`` for one, counted from 0.
"""

import re
from collections import Counter
from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from coattend.data.formats.base import InvalidRecord
from coattend.data.formats.checks import json_type_name
from coattend.data.formats.reading import Readable
from coattend.errors import CoattendError, did_you_mean

MAX_ABSENT = 100
"""Questions that may lack a part before the file is refused, if none had it."""
_STEP = re.compile(r"\[(\d*)\]|[^.\[\]]+")

Step = str | int | None
"""A key, the index of an element, or None: each element."""


class Level(NamedTuple):
    """A question, or what is around it, with its number in the list that holds it, from 1; 0 outside of lists."""

    value: object
    number: int = 0


Levels = tuple[Level, ...]
"""From the question outwards."""


class AbsentKey(InvalidRecord):
    """A path leads to a key that an object lacks."""

    def __init__(self, path: str, key: Step, known: Iterable[str]) -> None:
        self.cure = did_you_mean(str(key), list(known))
        name = repr(path) if path == key else f"{key!r} of the path {path!r}"
        self.problem = f"has no {name}"
        super().__init__(f"{self.problem}. {self.cure}")


class Lookup:
    """Values of paths, and which of the paths no question of a file has."""

    def __init__(self) -> None:
        self._found: set[str] = set()
        self._absent: Counter[str] = Counter()
        self._first: dict[str, tuple[str, AbsentKey]] = {}

    def value(self, path: str, levels: Levels, location: str, *, optional: bool = False) -> tuple[object, int]:
        """Return the value of a path, and the number of the level that has it, from the question's 0.

        Raises:
            InvalidRecord: If no level has it, unless it is optional.
        """
        steps = path_steps(path)
        try:
            for depth, level in enumerate(levels):
                if has_step(level.value, steps[0]):
                    value = follow(level.value, steps, path)
                    self._found.add(path)
                    return value, depth
            raise AbsentKey(path, steps[0], _keys(levels))
        except AbsentKey as error:
            self.note(path, location, error)
            if optional:
                return None, 0
            raise

    def note(self, path: str, location: str, error: AbsentKey) -> None:
        """Count a question that lacks a path."""
        self._absent[path] += 1
        self._first.setdefault(path, (location, error))

    def found(self, path: str) -> None:
        """Note that a question has a path."""
        self._found.add(path)

    def check(self, file: Readable, *, at_end: bool = False) -> None:
        """Raise CoattendError if none of the questions has one of the paths: not its data, but the path is wrong."""
        for path, (location, error) in self._first.items():
            if path not in self._found and (at_end or self._absent[path] >= MAX_ABSENT):
                where = ", ".join(filter(None, (str(file), location)))
                raise CoattendError(error.problem, where=where, cure=error.cure)


@cache
def path_steps(path: str) -> tuple[Step, ...]:
    """Split a path into its steps."""
    return tuple(
        match[0] if match[1] is None else int(match[1]) if match[1] else None for match in _STEP.finditer(path)
    )


def follow(value: object, steps: tuple[Step, ...], path: str) -> object:
    """Return what steps lead to from a value; the values of several elements are one list."""
    for position, step in enumerate(steps):
        if step is None:
            if not isinstance(value, list):
                raise _unlike_list(value, path)
            rest = steps[position + 1 :]
            values = [follow(element, rest, path) for element in value]
            return [inner for outer in values for inner in listed(outer)] if None in rest else values
        if isinstance(step, int) and not (isinstance(value, list) and step < len(value)):
            size = f"{len(value)} elements" if isinstance(value, list) else json_type_name(value)
            raise InvalidRecord(f"the path {path!r} has no element [{step}] (there is {size})")
        if isinstance(step, str) and not isinstance(value, dict):
            raise InvalidRecord(f"{step!r} of the path {path!r} is looked up in {json_type_name(value)}")
        if isinstance(step, str) and step not in value:  # type: ignore[operator]
            raise AbsentKey(path, step, map(str, value))  # type: ignore[call-overload]
        value = value[step]  # type: ignore[index]
    return value


def _unlike_list(value: object, path: str) -> InvalidRecord:
    keys = f" with the keys {', '.join(map(str, value))[:200]}" if isinstance(value, dict) else ""
    return InvalidRecord(f"the path {path!r} leads to {json_type_name(value)}{keys} instead of a list")


def has_step(value: object, step: Step) -> bool:
    """Return True if a value has a key, or an element."""
    if isinstance(step, str):
        return isinstance(value, dict) and step in value
    return isinstance(value, list) and (step is None or step < len(value))


def _keys(levels: Levels) -> list[str]:
    keys = [str(key) for level in levels if isinstance(level.value, dict) for key in level.value]
    return list(dict.fromkeys(keys))


def listed(value: object) -> list[object]:
    """Return a list as it is, and anything else as a list of one."""
    return value if isinstance(value, list) else [value]
