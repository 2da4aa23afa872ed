"""A digest beside a file, by which damage to the file is noticed."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from coattend.datasets.atomic import DataError, replacing
from coattend.text.identity import file_digest


@contextmanager
def sealed(path: Path) -> Iterator[Path]:
    """Replace a file, as `replacing` does, and write its digest to ``.<name>.sha256`` beside it.

    The old digest goes before the new file comes: a run that is killed in between leaves a whole file without one.

    Raises:
        DataError: If the disk refuses.
    """
    with replacing(path) as temporary:
        yield temporary
        digest = file_digest(temporary)
        seal_of(path).unlink(missing_ok=True)
    with replacing(seal_of(path)) as temporary:
        temporary.write_text(f"{digest}\n")


def is_whole(path: Path) -> bool:
    """Whether a file is the one that was written. One without a digest is taken as it is.

    Raises:
        OSError: If there is no such file, or it cannot be read.
    """
    digest = file_digest(path)
    seal = _read(path)
    # Where the digest changes meanwhile, another run is writing the file.
    return seal in (None, digest) or _read(path) != seal or file_digest(path) == seal


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


def _read(path: Path) -> str | None:
    try:
        return seal_of(path).read_text(errors="replace").strip()
    except FileNotFoundError:
        return None
