"""Files that are there whole or not at all: a temporary name first, then a rename."""

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from kedro.io import DatasetError

from coattend.errors import CoattendError


class DataError(CoattendError, DatasetError):
    """A catalog entry that cannot be read or written, told to the user in one message."""


def local(filepath: str) -> Path:
    """The path of a catalog entry.

    Raises:
        DataError: If it is an address of a remote store.
    """
    if "://" in filepath:
        raise DataError("is not a path on this machine", where=filepath, cure="Mount the store, and name its folder")
    return Path(filepath)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a temporary path beside ``path``; rename it over ``path`` once the block has ended well.

    Args:
        path: The file to write. Its folder is made.

    Yields:
        The path to write to. After an exception nothing is left of it.

    Raises:
        DataError: If the disk refuses.
    """
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        temporary.replace(path)
    except OSError as error:
        raise DataError(
            f"cannot be written ({error.strerror or error})",
            where=str(path),
            cure="Check the free space and the permissions of its folder, then run the same command again",
        ) from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
