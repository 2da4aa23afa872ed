"""Files inside archives, read one after the other; nothing is unpacked to disk."""

import gzip
import io
import lzma
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO

from coattend.benchmarks.checks import storable
from coattend.benchmarks.files import CURE
from coattend.errors import CoattendError

LARGEST = 2 * 1024**3
"""Bytes of the largest member that is read: no published file of a benchmark has as many."""
LARGEST_AT_ONCE = 512 * 1024**2
"""Bytes of the largest member that is read into memory as a whole, as JSON has to be."""
LARGEST_ALTOGETHER = 16 * 1024**3
"""Bytes of all members: a small archive of zeros could keep a reader busy for days."""
LARGEST_HEADER = 1024**2
"""Bytes of what a tar archive says of one member, which tarfile reads into memory."""

# RuntimeError: a zip file that is encrypted, or packed in a way that Python cannot unpack. ValueError, IndexError and
# struct.error: what zipfile and tarfile say of numbers and names that cannot be.
_BROKEN = (
    *(OSError, EOFError, RuntimeError, ValueError, IndexError, OverflowError, struct.error),
    *(tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError),
)


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
        """All of its bytes.

        Raises:
            CoattendError: If the archive is broken, or they are more than `LARGEST_AT_ONCE`.
        """
        with self.open() as file:
            content = file.read(LARGEST_AT_ONCE + 1)
        if len(content) > LARGEST_AT_ONCE:
            problem = f"has more than the {LARGEST_AT_ONCE:,} bytes that are read at once"
            raise CoattendError(problem, where=str(self), cure=CURE)
        return content


def members(archive: Path) -> Iterator[Member]:
    """The files of an archive, in its order; folders and what an operating system adds are passed over.

    Raises:
        CoattendError: If it is no archive, is broken, or holds what no benchmark's archive holds: a path that leads out
            of it, a link, a device, a file of more than `LARGEST` bytes, or more than `LARGEST_ALTOGETHER`.
    """
    left = LARGEST_ALTOGETHER
    try:
        for size, member in _zipped(archive) if archive.suffix == ".zip" else _tarred(archive):
            left -= size
            if left < 0:
                problem = f"holds more than {LARGEST_ALTOGETHER:,} bytes, more than any published archive"
                raise CoattendError(problem, where=str(archive), cure=CURE)
            if member is not None:
                yield member
    except _BROKEN as error:
        raise CoattendError(f"is not a whole archive ({error})", where=str(archive), cure=CURE) from None


def _tarred(archive: Path) -> Iterator[tuple[int, Member | None]]:
    # tarfile itself takes the end of a file that was cut off for the end of the archive: gzip does not.
    with _unzipped(archive) as stream, tarfile.open(fileobj=stream, mode="r|", tarinfo=_Entry) as tar:
        for entry in tar:
            # A sparse file says that it is large, and has next to nothing in it.
            regular = entry.isreg() and not entry.issparse()
            inside = _checked(archive, entry.name, entry.size, regular=regular, folder=entry.isdir())
            content = tar.extractfile(entry) if inside else None
            yield entry.size, Member(archive, inside, content) if inside and content else None
            tar.members = []  # It keeps every entry that it has seen.
        while stream.read(1 << 20):  # What is left tells whether the whole was sound.
            pass


class _Entry(tarfile.TarInfo):
    """A header of a tar archive. tarfile takes one that is damaged for the archive's end."""

    @classmethod
    def frombuf(cls, buf: bytes, encoding: str, errors: str) -> "_Entry":
        try:
            entry = super().frombuf(buf, encoding, errors)
        except (tarfile.EmptyHeaderError, tarfile.EOFHeaderError):  # type: ignore[attr-defined]
            raise
        except tarfile.HeaderError as error:
            raise tarfile.ReadError(str(error)) from None
        if entry.size < 0 or (entry.type not in _HOLDING and entry.size > LARGEST_HEADER):
            raise tarfile.ReadError(f"a header of {entry.size:,} bytes")
        return entry


_HOLDING = (*tarfile.REGULAR_TYPES, tarfile.DIRTYPE)
"""Types of members that may hold bytes; those of others belong to a header."""


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


_PACKED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2)


def _zipped(archive: Path) -> Iterator[tuple[int, Member | None]]:
    with zipfile.ZipFile(archive) as zipped:
        for entry in zipped.infolist():
            kind = stat.S_IFMT(entry.external_attr >> 16)
            regular = kind in (0, stat.S_IFREG)
            inside = _checked(archive, entry.filename, entry.file_size, regular=regular, folder=entry.is_dir())
            if inside is None:
                continue
            if entry.compress_type not in _PACKED:
                problem = "is packed in a way that may ask for any amount of memory"
                raise CoattendError(problem, where=f"{archive}: {inside}", cure="Pack it anew, with deflate")
            with zipped.open(entry) as content:
                yield entry.file_size, Member(archive, inside, content)


def _checked(archive: Path, name: str, size: int, *, regular: bool, folder: bool) -> PurePosixPath | None:
    """The path of a file that may be read, or None for what is passed over."""
    inside = PurePosixPath(storable(name))
    problem = None
    if inside.is_absolute() or ".." in inside.parts or "\\" in name or "\0" in name:
        problem = "has a path that leads out of the archive"
    elif not regular and not folder:
        problem = "is a link or a device, not a file"
    elif size > LARGEST:
        problem = f"has {size:,} bytes, more than any published file ({LARGEST:,})"
    if problem:
        raise CoattendError(
            f"{problem}; the archive is not what was published", where=f"{archive}: {inside}", cure=CURE
        )
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
