"""Questions that a trained reader is asked: their form, their limits, and an example for each task."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NotRequired, TypedDict

from coattend.config import Limits
from coattend.data.formats.checks import require
from coattend.data.formats.custom import REQUIRED_COLUMNS
from coattend.errors import CoattendError


class InvalidQuery(CoattendError):
    """A question that cannot be answered, and why."""


@dataclass(frozen=True)
class Query:
    """A question about a passage.

    Attributes:
        passage: The text.
        question: The question; a blank that an option fills is written ``_`` or ``@placeholder``.
        options: What can be chosen, if anything.
    """

    passage: str
    question: str
    options: tuple[str, ...] | None = None


def parse_query(values: Mapping[str, object]) -> Query:
    """Read a query from the fields of a file's row or a request; an empty list of options means none.

    Raises:
        InvalidRecord: If one is no text, or the options are no list of texts.
    """
    passage, question = (require(values.get(name), str, f"the {name}") for name in REQUIRED_COLUMNS)
    options = values.get("options")
    if options is None or (isinstance(options, list) and not options):
        return Query(passage, question)
    texts = require(options, list, "the list of options")
    return Query(passage, question, tuple(require(option, str, f"option {n}") for n, option in enumerate(texts, 1)))


def check_query(query: Query, limits: Limits) -> None:
    """Refuse what is empty, too long or too much.

    Raises:
        InvalidQuery: With what is wrong.
    """
    _check_text(query.passage, "the passage", limits.passage)
    _check_text(query.question, "the question", limits.question)
    if not any(map(str.isalnum, query.passage)):
        raise InvalidQuery("the passage has no words")
    if query.options is None:
        return
    if len(query.options) > limits.options:
        raise InvalidQuery(f"has {len(query.options)} options, more than {limits.options}")
    if len(query.options) < 2:
        raise InvalidQuery("has one option only" if query.options else "has no options")
    for number, option in enumerate(query.options, 1):
        _check_text(option, f"option {number}", limits.option)


def _check_text(text: str, label: str, max_characters: int) -> None:
    if not isinstance(text, str):
        raise InvalidQuery(f"{label} is no text")
    if len(text) > max_characters:
        raise InvalidQuery(f"{label} has {len(text):,} characters, more than {max_characters:,}")
    if not text.strip():
        raise InvalidQuery(f"{label} is empty")
    # JSON can escape half a surrogate pair, which UTF-8 cannot encode.
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidQuery(f"{label} holds half a surrogate pair at character {error.start}") from None


class ExampleQuestion(TypedDict):
    """A question about `EXAMPLE_PASSAGE`."""

    question: str
    options: NotRequired[list[str]]


class ExampleQuery(ExampleQuestion):
    """A question with its passage: a row of a request."""

    passage: str


EXAMPLE_PASSAGE = "The lamp is in the hall . Mary carried the sofa to the attic , and John sold his boat ."
EXAMPLE_QUESTIONS: dict[str, ExampleQuestion] = {
    "options": {"question": "Where is the sofa?", "options": ["In the hall.", "In the attic.", "At sea."]},
    "span": {"question": "Where is the sofa?"},
    "word": {"question": "John sold his _ .", "options": ["boat", "lamp", "sofa"]},
}


def example_query(task: str) -> ExampleQuery:
    """Return a question that readers of a task can answer."""
    return {"passage": EXAMPLE_PASSAGE, **EXAMPLE_QUESTIONS[task]}
