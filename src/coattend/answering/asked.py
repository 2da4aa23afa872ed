"""What may be asked: limits of texts and options, kept wherever a trained reader answers."""

from collections.abc import Sequence
from dataclasses import dataclass

from coattend.errors import CoattendError
from coattend.parameters import Limits


class Refused(CoattendError):
    """A question that cannot be answered, and why."""


@dataclass(frozen=True)
class Asked:
    """A question about a passage.

    Attributes:
        passage: The text.
        question: The question; a blank that an option fills is written ``_`` or ``@placeholder``.
        options: What can be chosen, if anything.
    """

    passage: str
    question: str
    options: tuple[str, ...] | None = None


def check(asked: Asked, limits: Limits) -> None:
    """Refuse what is empty, too long or too much.

    Raises:
        Refused: With what is wrong.
    """
    _text(asked.passage, "the passage", limits.passage)
    _text(asked.question, "the question", limits.question)
    if not any(map(str.isalnum, asked.passage)):
        raise Refused("the passage has no words")
    if asked.options is None:
        return
    _count(asked.options, limits.options)
    for number, option in enumerate(asked.options, 1):
        _text(option, f"option {number}", limits.option)


def _count(options: Sequence[str], most: int) -> None:
    if len(options) > most:
        raise Refused(f"has {len(options)} options, more than {most}")
    if len(options) < 2:
        raise Refused("has one option only" if options else "has no options")


def _text(text: str, what: str, most: int) -> None:
    if not isinstance(text, str):
        raise Refused(f"{what} is no text")
    if len(text) > most:
        raise Refused(f"{what} has {len(text):,} characters, more than {most:,}")
    if not text.strip():
        raise Refused(f"{what} is empty")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise Refused(f"{what} holds half a surrogate pair at character {error.start}") from None
