"""The error a user sees: one message, no traceback."""

from functools import partial
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

MAX_LISTED = 60
"""Known names that an error lists."""


class CoattendError(click.ClickException):
    """A mistake of the user: the problem, in one sentence without its final stop, the file, record or parameter where
    it is, and its cure. The command line prints it as one line after ``Error:`` and exits with status 1."""

    def __init__(self, problem: str, *, where: str | None = None, cure: str | None = None) -> None:
        self.problem, self.where, self.cure = problem, where, cure
        parts = [problem if where is None else f"{where}: {problem}"]
        super().__init__(". ".join([*parts, cure] if cure else parts))

    def __str__(self) -> str:
        return self.message

    def __reduce__(self) -> tuple[object, ...]:
        # Worker processes send their errors home pickled; keyword arguments need this.
        return partial(type(self), self.problem, where=self.where, cure=self.cure), ()


class WorkerError(CoattendError):
    """A worker process died, and what it was at has no result."""


def message_of(error: "ErrorDetails") -> str:
    """What pydantic says of a value, without what it puts before the words of this project's own checks."""
    return error["msg"].removeprefix("Value error, ")


def first_line(error: Exception) -> str:
    """Return the beginning of a library's message, or the name of an error that has none."""
    return (str(error) or type(error).__name__).splitlines()[0][:200]


def did_you_mean(word: str, names: list[str] | tuple[str, ...]) -> str:
    """Suggest the nearest known name, as in ``Did you mean 'poi_net'?``, or list all of them."""
    import difflib

    near = difflib.get_close_matches(word, names, n=1, cutoff=0.6)
    if near:
        return f"Did you mean {near[0]!r}?"
    rest = f" and {len(names) - MAX_LISTED} more" if len(names) > MAX_LISTED else ""
    return f"Known: {', '.join(sorted(names)[:MAX_LISTED])}{rest}"
