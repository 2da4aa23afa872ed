"""A digest beside a file, by which damage to the file is noticed."""

import hashlib
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from coattend.datasets.atomic import DataError, replacing
from coattend.text.identity import file_digest

MOMENT = 2.0
"""Seconds in which a file system may not tell two files of one name and size apart by their times."""


@contextmanager
def sealed(path: Path) -> Iterator[Path]:
    """Replace a file, as `replacing` does, and write its digest to ``.<name>.sha256`` beside it.

    The old digest goes before the new file comes: a run that is killed in between leaves a whole file without one.

    Raises:
        DataError: If the disk refuses.
    """
    with replacing(path) as temporary:
        yield temporary
        digest = _digest(temporary)
        seal_of(path).unlink(missing_ok=True)
    with replacing(seal_of(path)) as temporary:
        temporary.write_text(f"{digest}\n")


def is_whole(path: Path) -> bool:
    """Whether a file is the one that was written. One without a digest is taken as it is.

    Raises:
        OSError: If there is no such file, or it cannot be read.
    """
    digest = _digest(path)
    seal = _read(path)
    # Where the digest changes meanwhile, another run is writing the file.
    return seal in (None, digest) or _read(path) != seal or _digest(path) == seal


def check(path: Path, *, cure: str) -> None:
    """Refuse a file that is not the one that was written.

    Args:
        path: The file.
        cure: What makes it again.

    Raises:
        DataError: If it is another.
        OSError: If there is no such file, or it cannot be read.
    """
    if not is_whole(path):
        raise DataError("is not the file that was written", where=str(path), cure=cure)


def seal_of(path: Path) -> Path:
    """Where a file's digest lies."""
    return path.with_name(f".{path.name}.sha256")


def _digest(path: Path) -> str:
    """The digest of a file; of one that is older than a moment, this process may remember it.

    A file that is replaced twice before the clock of the file system moves on looks like the same one.
    """
    age = time.time() - path.stat().st_mtime
    if age < MOMENT:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    return file_digest(path)


def _read(path: Path) -> str | None:
    try:
        return seal_of(path).read_text(errors="replace").strip()
    except FileNotFoundError:
        return None
