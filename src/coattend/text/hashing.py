"""Ids of texts and digests of files and of values, all of their content alone."""

import hashlib
import json
import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path


def text_digest(text: str) -> bytes:
    """Return the first 12 bytes of a text's SHA-256; lone surrogates are allowed."""
    return hashlib.sha256(text.encode("utf-8", errors="surrogatepass")).digest()[:12]


def text_id(text: str) -> str:
    """Return the `text_digest` of a text as 24 hexadecimal digits."""
    return text_digest(text).hex()


def digest_of_ids(ids: Iterable[str]) -> str:
    """Return the digest that questions are known by: SHA-256 of their ids, one a line."""
    return hashlib.sha256("".join(f"{name}\n" for name in ids).encode()).hexdigest()


def json_digest(content: object) -> str:
    """Return the SHA-256 of JSON values."""
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def normalize(text: str) -> str:
    """Lower-case a text and reduce it to words with one space between, so that copies are equal."""
    return re.sub(r"[\W_]+", " ", text.lower()).strip()


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file; one process reads an unchanged file once."""
    return _digest(path, file_version(path))


def file_version(path: Path) -> tuple[int, int, int, int]:
    """Return inode, size and times of a file, which change if it is written or replaced.

    The last one is that of its inode, which also changes where somebody restores the time of the content.
    """
    state = path.stat()
    return state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns


def combined_digest(files: Iterable[Path]) -> str:
    """Return the SHA-256 of several files, in the order of their paths."""
    content = hashlib.sha256()
    for path in sorted(files):
        content.update(path.read_bytes())
    return content.hexdigest()


@lru_cache(maxsize=4096)
def _digest(path: Path, _: tuple[int, int, int, int]) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
