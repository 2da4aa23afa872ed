"""What a single record must be like; a record that is not is left out and listed."""

from typing import Any, TypeVar

Kind = TypeVar("Kind")

_NAMES = {dict: "an object", list: "a list", str: "a text", bool: "true or false", int: "a number", float: "a number"}


MOST_OPTIONS = 2**15
"""Options that a label can number in the table of questions."""


class Flaw(Exception):
    """Why a record cannot be used."""


def name_of(value: Any) -> str:
    """What a value of a JSON file is called."""
    return _NAMES.get(type(value), "nothing")


def named(value: Any) -> str:
    """A name from a file as it can be told, be it none: its beginning, without what no table can store."""
    return storable(str(value)[:60])


def storable(text: str) -> str:
    """A text with half surrogate pairs written out, which no table can store."""
    return text.encode(errors="backslashreplace").decode()


def need(value: Any, kind: type[Kind], what: str) -> Kind:
    """A value of the right type.

    Raises:
        Flaw: If it is of another.
    """
    if value is None:
        raise Flaw(f"{what} is missing")
    if type(value) is not kind:
        raise Flaw(f"{what} is {name_of(value)} instead of {_NAMES[kind]}")
    return value


def need_text(value: Any, what: str, *, max_characters: int) -> str:
    """A text that is not empty, not too long, and can be stored.

    Raises:
        Flaw: If it is not.
    """
    text = need(value, str, what)
    if len(text) > max_characters:
        raise Flaw(f"{what} has {len(text):,} characters, more than max_characters = {max_characters:,}")
    if not text.strip():
        raise Flaw(f"{what} is empty")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise Flaw(f"{what} holds half a surrogate pair at character {error.start}, which no table can store") from None
    return text


def need_words(text: str, what: str) -> str:
    """A text with at least one letter or digit.

    Raises:
        Flaw: If it has none.
    """
    if not any(character.isalnum() for character in text):
        raise Flaw(f"{what} has no words")
    return text


def need_options(values: Any, *, max_characters: int, count: int | None = None) -> tuple[str, ...]:
    """At least two options, or as many as the format has.

    Raises:
        Flaw: If there are others, or one of them is no text.
    """
    options = need(values, list, "the list of options")
    if count is not None and len(options) != count:
        raise Flaw(f"has {len(options)} options instead of {count}")
    if len(options) > MOST_OPTIONS:
        raise Flaw(f"has {len(options):,} options, more than {MOST_OPTIONS:,}")
    if len(options) < 2:
        raise Flaw("has no options" if not options else "has one option only")
    return tuple(need_text(o, f"option {n}", max_characters=max_characters) for n, o in enumerate(options, 1))


def label_of(answer: str, options: tuple[str, ...]) -> int:
    """The first option that equals the answer.

    Raises:
        Flaw: If none does.
    """
    try:
        return options.index(answer)
    except ValueError:
        shown = answer if len(answer) <= 60 else f"{answer[:60]}..."
        raise Flaw(f"the answer {shown!r} is not among the options") from None
