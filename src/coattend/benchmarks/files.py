"""Raw files as text and JSON, or one clear error."""

import io
import json
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Iterator
from typing import IO, Any, Protocol

from coattend.errors import CoattendError

CURE = "Fetch the file again: it may have been cut off or saved in another form"


class Readable(Protocol):
    """A file on disk or inside an archive; ``str`` of it says where it is."""

    @property
    def name(self) -> str:
        """Last part of its path."""
        ...

    def open(self, mode: str = "rb") -> IO[bytes]:
        """Its bytes, to be read from the start."""
        ...

    def read_bytes(self) -> bytes:
        """All of its bytes."""
        ...


def decode(content: bytes, path: Readable, *, line: int = 1, offset: int = 0) -> str:
    """UTF-8 as text; a byte-order mark at its start is dropped.

    Args:
        content: Some or all bytes of a file.
        path: The file.
        line: The line that they begin in.
        offset: Where in the file they begin.

    Raises:
        CoattendError: If they are not UTF-8.
    """
    if not offset and content.startswith(BOM_UTF8):
        content, offset = content.removeprefix(BOM_UTF8), len(BOM_UTF8)
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line += content.count(b"\n", 0, error.start)
        problem = f"is not UTF-8 (byte 0x{content[error.start]:02x} at offset {offset + error.start})"
        raise CoattendError(problem, where=f"{path}, line {line}", cure="Convert the file to UTF-8") from None


def read_bytes(path: Readable) -> bytes:
    """A file's content.

    Raises:
        CoattendError: If it cannot be read, or is empty.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise CoattendError(f"cannot be read ({error.strerror})", where=str(path), cure="Check the path") from error
    if not content.strip():
        raise CoattendError("is empty", where=str(path), cure=CURE)
    return content


def read_json(path: Readable) -> Any:
    """What a JSON file holds; control characters inside its texts are allowed.

    Raises:
        CoattendError: If it cannot be read, is not UTF-8, or is not whole JSON.
    """
    text = decode(read_bytes(path), path)
    try:
        return _value(text)
    except json.JSONDecodeError as error:
        where = f"{path}, line {error.lineno}, column {error.colno}"
        raise CoattendError(f"is not whole JSON ({error.msg})", where=where, cure=CURE) from None
    except (ValueError, RecursionError) as error:
        reason = "too deeply nested" if isinstance(error, RecursionError) else str(error)
        raise CoattendError(f"is not readable JSON ({reason})", where=str(path), cure=CURE) from None


def json_lines(path: Readable) -> Iterator[tuple[int, Any]]:
    """What each line of a JSON Lines file holds, with its number; empty lines are passed over.

    Raises:
        CoattendError: If the file cannot be read, is empty, is not UTF-8, or a line is not JSON.
    """
    for number, text in numbered_lines(path):
        yield number, parsed(text, f"{path}, line {number}")


def numbered_lines(path: Readable) -> Iterator[tuple[int, str]]:
    """The lines of a text file that are not empty, with their numbers.

    Raises:
        CoattendError: If the file cannot be read, is empty, or is not UTF-8.
    """
    number = offset = 0
    held = False
    try:
        with path.open("rb") as file:
            for number, content in enumerate(file, 1):
                text = decode(content, path, line=number, offset=offset)
                offset += len(content)
                if text.strip():
                    held = True
                    yield number, text
    except OSError as error:
        raise CoattendError(f"cannot be read ({error.strerror})", where=str(path), cure="Check the path") from error
    if not held:
        raise CoattendError("is empty", where=str(path), cure=CURE)


def text_lines(content: IO[bytes], path: Readable) -> Iterator[str]:
    """The lines of a text file with their ends, whichever of the three kinds these are.

    Args:
        content: The open file.
        path: The file.

    Raises:
        CoattendError: If it is empty, or not UTF-8.
    """
    lines = io.TextIOWrapper(content, encoding="utf-8-sig", newline="")
    held = False
    try:
        for line in lines:
            held = held or bool(line.strip())
            yield line
    except UnicodeDecodeError:
        with path.open("rb") as again:
            offset = 0
            for number, line in enumerate(again, 1):
                decode(line, path, line=number, offset=offset)
                offset += len(line)
        raise
    if not held:
        raise CoattendError("is empty", where=str(path), cure=CURE)


def parsed(text: str, where: str) -> Any:
    """A JSON text.

    Raises:
        CoattendError: If it is none.
    """
    try:
        return _value(text)
    except (ValueError, RecursionError) as error:
        raise CoattendError(f"is not JSON ({error})", where=where, cure=CURE) from None


def _value(text: str) -> Any:
    return json.loads(text, strict=False, object_pairs_hook=_each_once)


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object, of whose keys none stands twice: of two values, JSON's reader would keep the last without a word."""
    made = dict(pairs)
    if len(made) < len(pairs):
        (twice, _), *_ = Counter(key for key, _ in pairs).most_common(1)
        raise ValueError(f"the key {twice[:60]!r} stands twice in one object")
    return made
