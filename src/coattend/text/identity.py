"""The name of a text, and of a file, is its content."""

import hashlib
import re
from functools import lru_cache
from pathlib import Path


def text_id(text: str) -> str:
    """The first 24 hexadecimal digits of the SHA-256 of the text.

    Args:
        text: Any text; lone surrogates are allowed.

    Returns:
        A name that two texts share only if they are equal.
    """
    return hashlib.sha256(text.encode("utf-8", errors="surrogatepass")).hexdigest()[:24]


def bare(text: str) -> str:
    """Words in lower case, without punctuation and with one space between: what copies share, however they are set."""
    return re.sub(r"[\W_]+", " ", text.lower()).strip()


def file_digest(path: Path) -> str:
    """The SHA-256 of a file's content; a file that was not written since is not read again in one process.

    Raises:
        OSError: If it cannot be read.
    """
    return _digest(path, version_of(path))


def version_of(path: Path) -> tuple[int, int, int]:
    """What changes when a file is written or another takes its name.

    Raises:
        OSError: If there is none.
    """
    state = path.stat()
    return state.st_ino, state.st_size, state.st_mtime_ns


@lru_cache(maxsize=4096)
def _digest(path: Path, _: tuple[int, int, int]) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
