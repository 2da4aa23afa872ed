"""Files that are written whole or not at all, each beside the checksum of its content."""

import fcntl
import hashlib
import logging
import os
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from glob import escape
from pathlib import Path
from typing import BinaryIO

from coattend.io.local_dataset import DataError
from coattend.text.hashing import file_digest

logger = logging.getLogger(__name__)


@contextmanager
def disk_errors(path: Path, *refusals: type[Exception]) -> Iterator[None]:
    """Turn errors of the disk, OSError or what libraries raise in its place, into a message with a cure; those of files
    elsewhere, which are read meanwhile, stay as they are."""
    caught: tuple[type[Exception], ...] = (OSError, *refusals)
    try:
        yield
    except caught as error:
        elsewhere = getattr(error, "filename", None)
        if isinstance(elsewhere, str | os.PathLike) and not Path(elsewhere).is_relative_to(path.parent):
            raise
        number = getattr(error, "errno", None)
        # Libraries raise errors without a number, of whose message the first line says enough.
        reason = os.strerror(number) if number else str(error).partition("\n")[0]
        raise DataError(
            f"cannot be written ({reason})",
            where=str(path),
            cure="Check the free space and the permissions of its folder, then run the same command again",
        ) from error


@contextmanager
def atomic_write(path: Path, *, sync: bool = True) -> Iterator[Path]:
    """Write a file whole or not at all: yield a temporary path beside it, then rename that over the file.

    The folder is created if needed; the temporary file is removed if the block raises. Without ``sync`` a power cut may
    leave an empty file.

    Raises:
        DataError: If the disk is full or refuses the write.
    """
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}.part")
    try:
        with disk_errors(path), ExitStack() as open_files:
            path.parent.mkdir(parents=True, exist_ok=True)
            _remove_abandoned_parts(path)
            # The lock tells other processes that this part is still being written.
            _lock(open_files.enter_context(temporary.open("xb")))
            yield temporary
            # The content reaches the disk before the name does, so that a power cut leaves no empty file.
            if sync:
                with temporary.open("rb") as part:
                    os.fsync(part.fileno())
            temporary.replace(path)
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


LOCK = ".lock"
"""Name of the file in a folder that a process which writes there holds a lock on."""


@contextmanager
def exclusive_lock(folder: Path, activity: str) -> Iterator[None]:
    """Hold a lock on a folder, which is created; other processes log the activity and wait for it."""
    with disk_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / LOCK).open("a")
    with file:
        # A first try without waiting tells whether to log that this process waits.
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            logger.warning("%s by another process; waiting for it", activity)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def reserve_space(file: Path) -> None:
    """Reserve disk space for a sparse file, as `numpy.lib.format.open_memmap` creates it, or raise an OSError.

    A process that writes mapped memory to a full disk would be killed.
    """
    with file.open("rb+") as sparse:
        os.posix_fallocate(sparse.fileno(), 0, file.stat().st_size)


def _remove_abandoned_parts(path: Path) -> None:
    """Remove parts of a file that killed processes left behind.

    A process that still writes holds a lock, except in the moment in which its part is created, and empty.
    """
    for part in path.parent.glob(f".{escape(path.name)}.*.part"):
        with suppress(FileNotFoundError), part.open("rb") as file:
            if part.stat().st_size and _lock(file):
                part.unlink()


def _lock(file: BinaryIO) -> bool:
    """Lock a file; return False if another process holds the lock or the file system has no locks."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


MTIME_RESOLUTION_S = 2.0
"""Seconds within which a file system may give two files of one name and size the same modification time."""


@contextmanager
def write_with_checksum(path: Path) -> Iterator[Path]:
    """Write a file as `atomic_write` does, and its SHA-256 to ``.<name>.sha256`` beside it.

    The old checksum is removed before the new file appears: a run that is killed in between leaves a whole file without
    a checksum, and a power cut perhaps with an empty one. Two runs that write the same file take turns, so that the
    checksum that stays is that of the file that stays.
    """
    with ExitStack() as turn:
        with atomic_write(path) as temporary:
            yield temporary
            digest = _file_digest(temporary)
            turn.enter_context(_turn_in(path.parent))
            checksum_path(path).unlink(missing_ok=True)
        # What it says is on the disk already; waiting for the disk once more would take as long as that did.
        with atomic_write(checksum_path(path), sync=False) as temporary:
            temporary.write_text(f"{digest}\n")


@contextmanager
def _turn_in(folder: Path) -> Iterator[None]:
    """Wait until no other process replaces a file of the folder together with its checksum, then hold them off.

    A file system without locks of folders lets all of them go on.
    """
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def write_if_changed(path: Path, text: str) -> None:
    """Write a text as `write_with_checksum` does, unless the file has it already: an unchanged file keeps its date."""
    with suppress(OSError):
        if matches_checksum(path) and path.read_bytes() == text.encode():
            return
    with write_with_checksum(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def matches_checksum(path: Path) -> bool:
    """Return True if a file matches its checksum, or has none; raise an OSError if it cannot be read."""
    recorded = _read_checksum(path)
    # A run that writes the file removes its checksum first: one that is there before and after is that of the file.
    return recorded in (None, _file_digest(path)) or _read_checksum(path) != recorded


def verify_checksum(path: Path, *, cure: str) -> None:
    """Raise a DataError, with how the user restores it, if a file was changed or damaged; see `matches_checksum`."""
    if not matches_checksum(path):
        raise DataError("is not the file that was written", where=str(path), cure=cure)


def checksum_path(path: Path) -> Path:
    """Return the path of a file's checksum."""
    return path.with_name(f".{path.name}.sha256")


def _file_digest(path: Path) -> str:
    """Return the SHA-256 of a file, remembered by this process for files that are old enough."""
    # A file that is replaced twice within the resolution of the file system's clock looks unchanged.
    age = time.time() - path.stat().st_mtime
    if age < MTIME_RESOLUTION_S:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    return file_digest(path)


def _read_checksum(path: Path) -> str | None:
    """Return the checksum that was written; None if there is none, or it had not reached the disk at a power cut."""
    try:
        return checksum_path(path).read_text(errors="replace").strip("\0 \n") or None
    except FileNotFoundError:
        return None
