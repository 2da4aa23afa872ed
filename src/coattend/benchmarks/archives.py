"""Files inside archives, read one after the other; nothing is unpacked to disk."""

import gzip
import io
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO

from coattend.benchmarks.files import CURE
from coattend.errors import CoattendError

LARGEST = 2 * 1024**3
"""Bytes of the largest member that is read: no published file of a benchmark has as many."""

# RuntimeError: a zip file that is encrypted, or packed in a way that Python cannot unpack.
_BROKEN = (OSError, EOFError, RuntimeError, tarfile.TarError, zipfile.BadZipFile, zlib.error)


class Member:
    """A file inside an archive; like a path, as far as the readers of formats need one.

    It can be read until the next member is asked for.

    Attributes:
        name: Last part of its path.
        inside: Its path inside the archive.
    """

    def __init__(self, archive: Path, inside: PurePosixPath, content: IO[bytes]) -> None:
        self.name, self.inside = inside.name, inside
        self._archive, self._content = archive, content

    def __str__(self) -> str:
        return f"{self._archive}/{self.inside}"

    def open(self, mode: str = "rb") -> io.BufferedReader:
        """Its bytes, once.

        Raises:
            CoattendError: While they are read, if the archive is broken.
        """
        return io.BufferedReader(_Guarded(self._content, str(self)), 1 << 16)

    def read_bytes(self) -> bytes:
        """All of its bytes."""
        with self.open() as file:
            return file.read()


def members(archive: Path) -> Iterator[Member]:
    """The files of an archive, in its order; folders and what an operating system adds are passed over.

    Raises:
        CoattendError: If it is no archive, is broken, or holds what no benchmark's archive holds: a path that leads out
            of it, a link, a device, or a file of more than `LARGEST` bytes.
    """
    try:
        yield from _zipped(archive) if archive.suffix == ".zip" else _tarred(archive)
    except _BROKEN as error:
        raise CoattendError(f"is not a whole archive ({error})", where=str(archive), cure=CURE) from None


def _tarred(archive: Path) -> Iterator[Member]:
    # tarfile itself takes the end of a file that was cut off for the end of the archive: gzip does not.
    with _unzipped(archive) as stream, tarfile.open(fileobj=stream, mode="r|") as tar:
        for entry in tar:
            inside = _checked(archive, entry.name, entry.size, regular=entry.isreg(), folder=entry.isdir())
            content = tar.extractfile(entry) if inside else None
            if inside and content:
                yield Member(archive, inside, content)
            tar.members = []  # It keeps every entry that it has seen.
        while stream.read(1 << 20):  # What is left tells whether the whole was sound.
            pass


def _unzipped(archive: Path) -> IO[bytes]:
    """The bytes of a tar archive.

    Raises:
        EOFError: If it is not compressed and lacks the zeros that end it.
    """
    with archive.open("rb") as file:
        if file.read(2) == b"\x1f\x8b":
            return gzip.open(archive)
        file.seek(-min(1024, archive.stat().st_size), io.SEEK_END)
        if file.read().strip(b"\0"):
            raise EOFError("it was cut off")
    return archive.open("rb")


def _zipped(archive: Path) -> Iterator[Member]:
    with zipfile.ZipFile(archive) as zipped:
        for entry in zipped.infolist():
            kind = stat.S_IFMT(entry.external_attr >> 16)
            regular = kind in (0, stat.S_IFREG)
            inside = _checked(archive, entry.filename, entry.file_size, regular=regular, folder=entry.is_dir())
            if inside:
                with zipped.open(entry) as content:
                    yield Member(archive, inside, content)


def _checked(archive: Path, name: str, size: int, *, regular: bool, folder: bool) -> PurePosixPath | None:
    """The path of a file that may be read, or None for what is passed over."""
    inside = PurePosixPath(name)
    problem = None
    if inside.is_absolute() or ".." in inside.parts:
        problem = "has a path that leads out of the archive"
    elif not regular and not folder:
        problem = "is a link or a device, not a file"
    elif size > LARGEST:
        problem = f"has {size:,} bytes, more than any published file ({LARGEST:,})"
    if problem:
        raise CoattendError(f"{problem}; the archive is not what was published", where=f"{archive}: {name}", cure=CURE)
    return None if folder or inside.name.startswith("._") else inside


class _Guarded(io.RawIOBase):
    """A member's bytes, with one clear error where the archive ends too early or is damaged."""

    def __init__(self, content: IO[bytes], where: str) -> None:
        self._content, self._where = content, where

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        try:
            data = self._content.read(len(buffer))
        except _BROKEN as error:
            raise CoattendError(f"cannot be read to its end ({error})", where=self._where, cure=CURE) from None
        buffer[: len(data)] = data
        return len(data)
