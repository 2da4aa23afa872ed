"""Files that are there whole or not at all: a temporary name first, then a rename."""

import fcntl
import logging
import os
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from glob import escape
from pathlib import Path
from typing import BinaryIO

from kedro.io import DatasetError

from coattend.errors import CoattendError

logger = logging.getLogger(__name__)


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
def writing(path: Path, *refusals: type[Exception]) -> Iterator[None]:
    """Tell of a disk that refuses.

    Args:
        path: What is written.
        refusals: What libraries raise in the place of OSError then.

    Raises:
        DataError: If the disk refuses.
    """
    try:
        yield
    except (OSError, *refusals) as error:
        number = getattr(error, "errno", None)
        reason = os.strerror(number) if number else str(error).partition("\n")[0]
        raise DataError(
            f"cannot be written ({reason})",
            where=str(path),
            cure="Check the free space and the permissions of its folder, then run the same command again",
        ) from error


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
        with writing(path), ExitStack() as held:
            path.parent.mkdir(parents=True, exist_ok=True)
            _remove_left_behind(path)
            _lock(held.enter_context(temporary.open("xb")))
            yield temporary
            with temporary.open("rb") as written:
                os.fsync(written.fileno())
            temporary.replace(path)
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


@contextmanager
def alone(folder: Path, what: str) -> Iterator[None]:
    """Keep other processes from the same block about a folder; they wait. It is made.

    Args:
        folder: The folder.
        what: What is done there, for the message of those that wait.

    Raises:
        DataError: If the disk refuses.
    """
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / ".lock").open("a")
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            logger.warning("%s by another process; waiting for it", what)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def reserve(file: Path) -> None:
    """Take the space of a file that has its size: a disk that is full when mapped memory is written kills the process.

    Args:
        file: A file that `numpy.lib.format.open_memmap` has made, which takes no space until it is written.

    Raises:
        OSError: If there is not so much space.
    """
    with file.open("rb+") as held:
        os.posix_fallocate(held.fileno(), 0, file.stat().st_size)


def _remove_left_behind(path: Path) -> None:
    """Remove what processes that were killed have left of a file.

    Who still writes holds a lock, but for the moment in which its file is made, and empty.
    """
    for left in path.parent.glob(f".{escape(path.name)}.*.part"):
        with suppress(FileNotFoundError), left.open("rb") as file:
            if left.stat().st_size and _lock(file):
                left.unlink()


def _lock(file: BinaryIO) -> bool:
    """Lock a file, if the file system knows locks and nobody else has locked it."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
