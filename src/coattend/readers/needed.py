"""What a part of a reader cannot do without."""

from typing import TypeVar

from coattend.errors import CoattendError

Value = TypeVar("Value")


def needed(value: Value | None, name: str) -> Value:
    """A field that may be None, where it may not.

    Args:
        value: What the field holds.
        name: What it is called, for example ``batch.word_groups``.

    Raises:
        CoattendError: If it is None.
    """
    if value is None:
        raise CoattendError("is not filled, and the reader needs it", where=name)
    return value
