"""What the readers of native formats yield."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class QuestionRecord:
    """A question about a passage.

    Attributes:
        question_id: Its id, unique in the benchmark.
        subset: The part of the benchmark that it belongs to, if the format knows parts.
        task: What it asks for: one of the options, a span of the passage, or the word that fills its blank.
        question: Its text; a blank is written ``_``.
        options: What can be chosen; None for a span.
        label: Index of the right option; None for a span.
        answers: Gold spans as (text, offset in code points), empty if the passage holds none; None for options.
        answerable: Whether the passage answers it.
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
        place: Where it stands in its file, such as ``line 3``, if that tells more than ids.
    """

    passage_id: str
    text: str
    turns: tuple[str, ...] | None
    source: str
    questions: tuple[QuestionRecord, ...]
    place: str | None = None


@dataclass(frozen=True)
class Rejected:
    """A record that was left out.

    Attributes:
        file: The raw file that it stands in.
        record: Its id, or its place in the file.
        reason: What is wrong with it.
    """

    file: str
    record: str
    reason: str
