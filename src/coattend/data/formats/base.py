"""Records that every format yields; one that cannot be used is left out of the benchmark and listed."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, Protocol

from coattend.data.formats.reading import Readable


@dataclass(frozen=True)
class QuestionRecord:
    """A question about a passage; a blank in it is written ``_``.

    Its answer is an option, a span of the passage, or the word that fills its blank. A span has neither options nor a
    label, but gold answers as (text, offset in code points): none if the passage does not answer the question.
    """

    question_id: str
    subset: str | None
    task: Literal["options", "span", "word"]
    question: str
    options: tuple[str, ...] | None = None
    label: int | None = None
    answers: tuple[tuple[str, int], ...] | None = None
    answerable: bool = True
    question_types: tuple[str, ...] | None = None


@dataclass(frozen=True)
class PassageRecord:
    """A passage with its questions; the turns of a dialogue are joined by line ends.

    Its source is the name of its file; its location there, such as ``line 3``, is set if it helps more than ids.
    Passages with a group key in common are of one group; None: those with nearly equal texts are, see
    `coattend.data.overlap`.
    """

    passage_id: str
    text: str
    turns: tuple[str, ...] | None
    source: str
    questions: tuple[QuestionRecord, ...]
    location: str | None = None
    group_keys: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Rejection:
    """A record that is left out: its file, its id or position there, and the check that it fails."""

    file: str
    record: str
    reason: str


class FormatReader(Protocol):
    """Reader of one raw file."""

    def __call__(self, path: Readable, *, max_characters: int) -> Iterator[PassageRecord | Rejection]:
        """Yield the passages of a file, and the records that are left out, such as those with longer texts.

        Raises:
            CoattendError: If the file as a whole cannot be used.
        """


class InvalidRecord(Exception):
    """A record that cannot be used; the message is the reason of its `Rejection`."""
