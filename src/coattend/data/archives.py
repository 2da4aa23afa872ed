"""Members of zip and tar archives, read one after the other; nothing is unpacked to disk."""

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
from typing import IO, cast

from coattend.data.formats.checks import escape_surrogates
from coattend.data.formats.reading import REFETCH
from coattend.errors import CoattendError

# No published file of a benchmark is as large; a small archive of zeros could keep a reader busy for days.
MAX_MEMBER_BYTES = 2 * 1024**3
MAX_TOTAL_BYTES = 16 * 1024**3
MAX_IN_MEMORY_BYTES = 512 * 1024**2
"""Bytes of a member that is read as a whole, as JSON has to be."""
MAX_HEADER_BYTES = 1024**2
"""Bytes of a tar header, which tarfile reads into memory."""

# RuntimeError: a zip file that is encrypted, or compressed in a way that Python cannot read. ValueError, IndexError and
# struct.error: zipfile and tarfile at impossible numbers and names.
_DAMAGE = (
    *(OSError, EOFError, RuntimeError, ValueError, IndexError, OverflowError, struct.error),
    *(tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError),
)
# Other methods may ask for any amount of memory.
_ZIP_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2)
_TAR_TYPES_WITH_CONTENT = (*tarfile.REGULAR_TYPES, tarfile.DIRTYPE)


class Member:
    """A file inside an archive; as readable as a path, until the iteration moves on to the next member."""

    def __init__(self, archive: Path, path: PurePosixPath, content: IO[bytes]) -> None:
        self.name, self.path = path.name, path
        self._archive, self._content = archive, content

    def __str__(self) -> str:
        return f"{self._archive}/{self.path}"

    def open(self, mode: str = "rb") -> io.BufferedReader:
        """Open it; it can be read once."""
        return io.BufferedReader(_CheckedStream(self._content, str(self)), 1 << 16)

    def read_bytes(self) -> bytes:
        """Read all of its bytes, at most `MAX_IN_MEMORY_BYTES`."""
        with self.open() as file:
            content = file.read(MAX_IN_MEMORY_BYTES + 1)
        if len(content) > MAX_IN_MEMORY_BYTES:
            problem = f"has more than the {MAX_IN_MEMORY_BYTES:,} bytes that are read at once"
            raise CoattendError(problem, where=str(self), cure=REFETCH)
        return content


def members(archive: Path) -> Iterator[Member]:
    """Yield the files of an archive in its order, without folders and the files that macOS adds.

    Raises:
        CoattendError: If it is no archive, is damaged, or has a member that no published archive has: a path that leads
            out of it, a link, a device, a file of more than `MAX_MEMBER_BYTES`, or more than `MAX_TOTAL_BYTES` in all.
    """
    total = 0
    try:
        for size, member in _zip_members(archive) if archive.suffix == ".zip" else _tar_members(archive):
            total += size
            if total > MAX_TOTAL_BYTES:
                problem = f"holds more than {MAX_TOTAL_BYTES:,} bytes, more than any published archive"
                raise CoattendError(problem, where=str(archive), cure=REFETCH)
            if member is not None:
                yield member
    except _DAMAGE as error:
        raise CoattendError(f"is not a whole archive ({error})", where=str(archive), cure=REFETCH) from None


def unzipped(file: Path) -> Iterator[Member]:
    """Yield the content of a gzip file that is no archive, at most `MAX_MEMBER_BYTES`; its name lacks ``.gz``."""
    try:
        with gzip.open(file) as content:
            yield Member(file, PurePosixPath(file.stem), cast(IO[bytes], content))
    except _DAMAGE as error:
        raise CoattendError(f"cannot be read ({error})", where=str(file), cure=REFETCH) from None


def _tar_members(archive: Path) -> Iterator[tuple[int, Member | None]]:
    # tarfile takes the end of a truncated file for the end of the archive; gzip does not.
    with _open_tar(archive) as stream, tarfile.open(fileobj=stream, mode="r|", tarinfo=_TarHeader) as tar:
        for header in tar:
            # A sparse file claims to be large, and has next to no content.
            regular = header.isreg() and not header.issparse()
            path = _member_path(archive, header.name, header.size, regular=regular, folder=header.isdir())
            content = tar.extractfile(header) if path else None
            yield header.size, Member(archive, path, content) if path and content else None
            # It would keep every header in memory.
            tar.members = []  # type: ignore[attr-defined]
        # gzip checks the rest of the file only if it is read.
        while stream.read(1 << 20):
            pass


class _TarHeader(tarfile.TarInfo):
    """A header of a tar archive that raises if it is damaged, where tarfile would end the archive."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> "_TarHeader":
        try:
            header = super().frombuf(buf, encoding, errors)
        except (tarfile.EmptyHeaderError, tarfile.EOFHeaderError):  # type: ignore[attr-defined]
            raise
        except tarfile.HeaderError as error:
            raise tarfile.ReadError(str(error)) from None
        if header.size < 0 or (header.type not in _TAR_TYPES_WITH_CONTENT and header.size > MAX_HEADER_BYTES):
            raise tarfile.ReadError(f"a header of {header.size:,} bytes")
        return header


def _open_tar(archive: Path) -> IO[bytes]:
    with archive.open("rb") as file:
        if file.read(2) == b"\x1f\x8b":
            return cast(IO[bytes], gzip.open(archive))
        file.seek(0)
        if file.read(6).startswith((b"BZh", b"\xfd7zXZ")):
            raise CoattendError("is packed by bzip2 or xz", where=str(archive), cure="Pack it as .tar.gz")
        # An archive that is not compressed has no checksum, but ends in zeros.
        file.seek(-min(1024, archive.stat().st_size), io.SEEK_END)
        if file.read().strip(b"\0"):
            raise EOFError("it was cut off")
    return archive.open("rb")


def _zip_members(archive: Path) -> Iterator[tuple[int, Member | None]]:
    with zipfile.ZipFile(archive) as zipped:
        for entry in zipped.infolist():
            regular = stat.S_IFMT(entry.external_attr >> 16) in (0, stat.S_IFREG)
            path = _member_path(archive, entry.filename, entry.file_size, regular=regular, folder=entry.is_dir())
            if path is None:
                continue
            if entry.compress_type not in _ZIP_METHODS:
                problem = "is packed in a way that may ask for any amount of memory"
                raise CoattendError(problem, where=f"{archive}: {path}", cure="Pack it anew, with deflate")
            with zipped.open(entry) as content:
                yield entry.file_size, Member(archive, path, content)


def _member_path(archive: Path, name: str, size: int, *, regular: bool, folder: bool) -> PurePosixPath | None:
    """Return the path of a file that may be read, or None for one that is skipped."""
    path = PurePosixPath(escape_surrogates(name))
    problem = None
    if path.is_absolute() or ".." in path.parts or "\\" in name or "\0" in name:
        problem = "has a path that leads out of the archive"
    elif not regular and not folder:
        problem = "is a link or a device, not a file"
    elif size > MAX_MEMBER_BYTES:
        problem = f"has {size:,} bytes, more than any published file ({MAX_MEMBER_BYTES:,})"
    if problem:
        problem += "; the archive is not what was published"
        raise CoattendError(problem, where=f"{archive}: {path}", cure=REFETCH)
    return None if folder or path.name.startswith("._") else path


class _CheckedStream(io.RawIOBase):
    """The bytes of a member, with one clear error if the archive is truncated or damaged."""

    def __init__(self, content: IO[bytes], where: str) -> None:
        self._content, self._where, self._bytes = content, where, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        try:
            data = self._content.read(len(buffer))
        except _DAMAGE as error:
            raise CoattendError(f"cannot be read to its end ({error})", where=self._where, cure=REFETCH) from None
        # A gzip file does not say how much it holds.
        self._bytes += len(data)
        if self._bytes > MAX_MEMBER_BYTES:
            problem = f"holds more than {MAX_MEMBER_BYTES:,} bytes, more than any published file"
            raise CoattendError(problem, where=self._where, cure=REFETCH)
        buffer[: len(data)] = data
        return len(data)
