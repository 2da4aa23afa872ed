"""The name of a text, and of a file, is its content."""

import hashlib
import re
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
    """The SHA-256 of a file's content.

    Raises:
        OSError: If it cannot be read.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
