"""Checks of raw records. Each returns its value with a type, or raises `InvalidRecord` with the reason."""

from typing import TypeVar

from coattend.data.formats.base import InvalidRecord

Checked = TypeVar("Checked")

MAX_OPTIONS = 2**15
"""Labels of the questions table are 16-bit integers."""

MAX_QUOTED = 60
"""Characters of a raw value that a message quotes."""

_JSON_TYPES = {
    dict: "an object",
    list: "a list",
    str: "a text",
    bool: "true or false",
    int: "a number",
    float: "a number",
}


def json_type_name(value: object) -> str:
    """Name the type of a JSON value for a message."""
    return _JSON_TYPES.get(type(value), "nothing")


def printable(value: object) -> str:
    """Shorten a raw value for a message, without the characters that no table can store."""
    return escape_surrogates(str(value)[:MAX_QUOTED])


def escape_surrogates(text: str) -> str:
    """Write out half surrogate pairs, which no table can store."""
    return text.encode(errors="backslashreplace").decode()


def require(value: object, expected: type[Checked], name: str) -> Checked:
    """Return a value of the expected type."""
    if value is None:
        raise InvalidRecord(f"{name} is missing")
    # By identity, as true and false are instances of int.
    if type(value) is not expected:
        if expected is int and type(value) is float:
            raise InvalidRecord(f"{name} is {value:g} instead of a whole number")
        raise InvalidRecord(f"{name} is {json_type_name(value)} instead of {_JSON_TYPES[expected]}")
    return value


def require_text(value: object, name: str, *, max_characters: int) -> str:
    """Return a text that is not empty, not too long, and can be stored."""
    text = require(value, str, name)
    if len(text) > max_characters:
        raise InvalidRecord(f"{name} has {len(text):,} characters, more than max_characters = {max_characters:,}")
    if not text.strip():
        raise InvalidRecord(f"{name} is empty")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        problem = f"{name} holds half a surrogate pair at character {error.start}, which no table can store"
        raise InvalidRecord(problem) from None
    return text


def require_words(text: str, name: str) -> str:
    """Return a text that has at least one letter or digit."""
    if not any(character.isalnum() for character in text):
        raise InvalidRecord(f"{name} has no words")
    return text


def require_passage(value: object, name: str, *, max_characters: int) -> str:
    """Return a text that can be stored and has words."""
    return require_words(require_text(value, name, max_characters=max_characters), name)


def require_options(values: object, *, max_characters: int, count: int | None = None) -> tuple[str, ...]:
    """Return at least two options, or as many as the format has."""
    options: list[object] = require(values, list, "the list of options")
    if count is not None and len(options) != count:
        raise InvalidRecord(f"has {len(options)} options instead of {count}")
    if len(options) > MAX_OPTIONS:
        raise InvalidRecord(f"has {len(options):,} options, more than {MAX_OPTIONS:,}")
    if len(options) < 2:
        raise InvalidRecord("has no options" if not options else "has one option only")
    return tuple(
        require_text(option, f"option {number}", max_characters=max_characters)
        for number, option in enumerate(options, 1)
    )


def label_of_answer(answer: str, options: tuple[str, ...]) -> int:
    """Return the index of the first option that equals the answer."""
    try:
        return options.index(answer)
    except ValueError:
        quoted = answer if len(answer) <= MAX_QUOTED else f"{answer[:MAX_QUOTED]}..."
        raise InvalidRecord(f"the answer {quoted!r} is not among the options") from None
