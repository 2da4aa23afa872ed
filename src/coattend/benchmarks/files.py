"""Raw files as text and JSON, or one clear error."""

import json
from codecs import BOM_UTF8
from pathlib import Path
from typing import Any

from coattend.errors import CoattendError

CURE = "Fetch the file again: it may have been cut off or saved in another form"


def decode(content: bytes, path: Path, *, line: int = 1, offset: int = 0) -> str:
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


def read_bytes(path: Path) -> bytes:
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


def read_json(path: Path) -> Any:
    """What a JSON file holds; control characters inside its texts are allowed.

    Raises:
        CoattendError: If it cannot be read, is not UTF-8, or is not whole JSON.
    """
    text = decode(read_bytes(path), path)
    try:
        return json.loads(text, strict=False)
    except json.JSONDecodeError as error:
        where = f"{path}, line {error.lineno}, column {error.colno}"
        raise CoattendError(f"is not whole JSON ({error.msg})", where=where, cure=CURE) from None
    except (ValueError, RecursionError) as error:
        reason = "too deeply nested" if isinstance(error, RecursionError) else str(error)
        raise CoattendError(f"is not readable JSON ({reason})", where=str(path), cure=CURE) from None
