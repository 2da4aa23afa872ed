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
    """A question about a passage; a blank that an option fills is written ``_`` or ``@placeholder``."""

    passage: str
    question: str
    options: tuple[str, ...] | None = None


def parse_query(values: Mapping[str, object]) -> Query:
    """Read a query from the fields of a file's row or a request; an empty list of options means none.

    What is no text, and options that are no list of texts, raise an `InvalidRecord`.
    """
    passage, question = (require(values.get(name), str, f"the {name}") for name in REQUIRED_COLUMNS)
    options = values.get("options")
    if options is None or (isinstance(options, list) and not options):
        return Query(passage, question)
    texts = require(options, list, "the list of options")
    return Query(passage, question, tuple(require(option, str, f"option {n}") for n, option in enumerate(texts, 1)))


def check_query(query: Query, limits: Limits) -> None:
    """Raise an `InvalidQuery` for what is empty, too long or too much."""
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


class ExampleQuery(TypedDict):
    """A question with its passage: a row of a request."""

    passage: str
    question: str
    options: NotRequired[list[str]]


def example_query(task: str) -> ExampleQuery:
    """Return a question that readers of a task can answer."""
    passage = "The lamp is in the hall . Mary carried the sofa to the attic , and John sold his boat ."
    if task == "word":
        return {"passage": passage, "question": "John sold his _ .", "options": ["boat", "lamp", "sofa"]}
    example: ExampleQuery = {"passage": passage, "question": "Where is the sofa?"}
    if task == "options":
        example["options"] = ["In the hall.", "In the attic.", "At sea."]
    return example
