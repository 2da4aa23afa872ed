"""Records that every format yields; one that cannot be used is left out of the benchmark and listed."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, Protocol

from coattend.data.formats.reading import Readable


@dataclass(frozen=True)
class QuestionRecord:
    """A question about a passage.

    Attributes:
        question_id: Its id, unique in the benchmark.
        subset: The part of the benchmark that it belongs to, if the format knows parts.
        task: Its answer's form: one of the options, a span of the passage, or the word that fills its blank.
        question: Its text; a blank is written ``_``.
        options: The answers to choose from; None for a span.
        label: Index of the right option; None for a span.
        answers: Gold spans as (text, offset in code points), empty if the passage holds none; None for options.
        answerable: False if the passage does not answer it.
        question_types: Annotated types, if there are any.
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
    """A passage with its questions.

    Attributes:
        passage_id: Its id, unique in the benchmark.
        text: The passage; the turns of a dialogue are joined by line ends.
        turns: The turns of a dialogue, else None.
        source: The raw file that it comes from.
        questions: The questions about it.
        location: Position in its file, such as ``line 3``, if that helps more than ids.
    """

    passage_id: str
    text: str
    turns: tuple[str, ...] | None
    source: str
    questions: tuple[QuestionRecord, ...]
    location: str | None = None


@dataclass(frozen=True)
class Rejection:
    """A record that is left out.

    Attributes:
        file: The raw file that it stands in.
        record: Its id, or its position in the file.
        reason: The check that it fails.
    """

    file: str
    record: str
    reason: str


class FormatReader(Protocol):
    """Reader of one raw file."""

    def __call__(self, path: Readable, *, max_characters: int) -> Iterator[PassageRecord | Rejection]:
        """Yield the passages of a file, and the records that are left out.

        Args:
            path: The file.
            max_characters: Length of the longest text; a record with a longer one is left out.

        Raises:
            CoattendError: If the file as a whole cannot be used.
        """


class InvalidRecord(Exception):
    """A record that cannot be used; the message is the reason of its `Rejection`."""
