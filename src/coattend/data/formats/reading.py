"""Raw files as text, JSON and Parquet rows.

Each function raises a `CoattendError` that names the file, and the line where there is one, if the file cannot be read,
is empty, or is not whole.
"""

import csv
import io
import json
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, Literal, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from coattend.errors import CoattendError, first_line

REFETCH = "Fetch the file again: it may have been cut off or saved in another form"

TEXT_COLUMN, LIST_COLUMN, STRUCT_COLUMN, ANY_COLUMN = "text", "a list of texts", "a struct", "anything"
"""Types of Parquet columns, in the words of messages."""
ROWS_PER_BATCH = 1_000
MAX_CELL_CHARACTERS = 2**24
"""Memory for one CSV cell, if a quotation mark is never closed."""


class Readable(Protocol):
    """A file on disk or inside an archive; ``str`` of it names it in messages."""

    @property
    def name(self) -> str:
        """Last part of its path."""
        ...

    def open(self, mode: Literal["rb"], /) -> IO[bytes]:
        """Open it for reading from the start."""
        ...

    def read_bytes(self) -> bytes:
        """Read all of its bytes."""
        ...


def decode(content: bytes, path: Readable, *, line: int = 1, offset: int = 0) -> str:
    """Decode UTF-8 that begins at a line and an offset of a file; a byte-order mark at its start is dropped."""
    if not offset and content.startswith(BOM_UTF8):
        content, offset = content.removeprefix(BOM_UTF8), len(BOM_UTF8)
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line += content.count(b"\n", 0, error.start)
        problem = f"is not UTF-8 (byte 0x{content[error.start]:02x} at offset {offset + error.start})"
        raise CoattendError(problem, where=f"{path}, line {line}", cure="Convert the file to UTF-8") from None


def read_bytes(path: Readable) -> bytes:
    """Read a file that is not empty."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise _unreadable(path, error) from error
    if not content.strip():
        raise _empty(path)
    return content


def read_json(path: Readable) -> object:
    """Read a JSON file; control characters inside its texts are allowed."""
    text = decode(read_bytes(path), path)
    try:
        return _load_json(text)
    except json.JSONDecodeError as error:
        where = f"{path}, line {error.lineno}, column {error.colno}"
        raise CoattendError(f"is not whole JSON ({error.msg})", where=where, cure=REFETCH) from None
    except (ValueError, RecursionError) as error:
        reason = "too deeply nested" if isinstance(error, RecursionError) else str(error)
        raise CoattendError(f"is not readable JSON ({reason})", where=str(path), cure=REFETCH) from None


def read_json_lines(path: Readable) -> Iterator[tuple[int, object]]:
    """Yield the number and the value of each line of a JSON Lines file; empty lines are skipped."""
    for number, text in read_lines(path):
        if text.strip():
            yield number, parse_json(text, f"{path}, line {number}")


def parse_json(text: str, where: str) -> object:
    """Parse a JSON text."""
    try:
        return _load_json(text)
    except (ValueError, RecursionError) as error:
        raise CoattendError(f"is not JSON ({error})", where=where, cure=REFETCH) from None


def read_lines(path: Readable) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of each line, with its end."""
    offset, empty = 0, True
    try:
        with path.open("rb") as file:
            for number, content in enumerate(file, 1):
                text = decode(content, path, line=number, offset=offset)
                offset += len(content)
                empty = empty and not text.strip()
                yield number, text
    except OSError as error:
        raise _unreadable(path, error) from error
    if empty:
        raise _empty(path)


def read_cells(path: Readable, *, separator: str = ",", quoted: bool = True) -> Iterator[tuple[int, list[str]]]:
    """Yield the cells of each row of a CSV file with the number of its first line; an empty line has none.

    Args:
        quoted: Cells may stand in quotation marks, which then hide separators and line ends.
    """
    csv.field_size_limit(MAX_CELL_CHARACTERS)
    quoting: Literal[0, 3] = csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE
    # Lines end with LF, CR LF or CR.
    lines = (line for _, text in read_lines(path) for line in io.StringIO(text, newline=""))
    rows = csv.reader(lines, strict=True, delimiter=separator, quoting=quoting)
    first = 1
    try:
        for cells in rows:
            yield first, cells
            first = rows.line_num + 1
    except csv.Error as error:
        raise CoattendError(f"is not CSV ({error})", where=f"{path}, line {first}", cure=REFETCH) from None


def file_beside(path: Readable, suffix: str) -> Path:
    """Return the path of the file that differs in its suffix only, as where answers have a file of their own."""
    if not isinstance(path, Path):
        problem = f"is in an archive, where the {suffix} file that belongs to it cannot be read beside it"
        raise CoattendError(problem, where=str(path), cure="Unpack the archive")
    file = path.with_suffix(suffix)
    if not file.is_file():
        raise CoattendError(f"has no {file.name} beside it", where=str(path), cure="Put both files into the folder")
    return file


def read_parquet_rows(
    path: Readable,
    columns: Mapping[str, str] | None = None,
    *,
    optional: frozenset[str] = frozenset(),
    strict: bool = False,
) -> Iterator[dict[str, Any]]:
    """Yield the rows of a Parquet file, with some in memory at a time; other columns are skipped, or refused if strict.

    Args:
        columns: Column to its type: `TEXT_COLUMN`, `LIST_COLUMN` ... None: all columns, of any type.
        optional: Columns that may be missing.
    """
    try:
        with path.open("rb") as content:
            file = pq.ParquetFile(content)
            present = file.schema_arrow.names
            columns = dict.fromkeys(present, ANY_COLUMN) if columns is None else columns
            for problem in _column_problems(file.schema_arrow, columns, optional, strict=strict):
                cure = "It needs " + ", ".join(f"{name} ({expected})" for name, expected in columns.items())
                raise CoattendError(problem, where=str(path), cure=cure)
            if not file.metadata.num_rows:
                raise CoattendError("has no rows", where=str(path), cure=REFETCH)
            # In small batches: the passages of one may be long.
            for batch in file.iter_batches(ROWS_PER_BATCH, columns=[name for name in columns if name in present]):
                # Arrow takes the bytes of a text as they are, UTF-8 or not.
                batch.validate(full=True)
                yield from batch.to_pylist()
    # ValueError, OverflowError: values that Python lacks, such as a day of the year 10,000.
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        reason = first_line(error)
        raise CoattendError(f"is not a whole Parquet file ({reason})", where=str(path), cure=REFETCH) from None


def _column_problems(
    schema: pa.Schema, columns: Mapping[str, str], optional: frozenset[str], *, strict: bool
) -> Iterator[str]:
    for name, expected in columns.items():
        if name in schema.names:
            actual = schema.field(name).type
            if not _is_of_type(actual, expected):
                yield f"the column {name!r} is {actual} instead of {expected}"
        elif name not in optional:
            yield f"has no column {name!r} (it has {', '.join(schema.names)})"
    if strict:
        yield from (f"has an unknown column {name!r}" for name in schema.names if name not in columns)


def _is_of_type(actual: pa.DataType, expected: str) -> bool:
    if pa.types.is_dictionary(actual):
        actual = actual.value_type
    if expected == LIST_COLUMN:
        is_list = pa.types.is_list(actual) or pa.types.is_large_list(actual)
        return is_list and _is_of_type(actual.value_type, TEXT_COLUMN)
    if expected == TEXT_COLUMN:
        return bool(pa.types.is_string(actual) or pa.types.is_large_string(actual))
    return expected == ANY_COLUMN or bool(pa.types.is_struct(actual))


def _load_json(text: str) -> object:
    return json.loads(text, strict=False, object_pairs_hook=_unique_keys)


def _unique_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Build an object, and refuse a key that stands twice: JSON's parser would silently keep the last value."""
    content = dict(pairs)
    if len(content) < len(pairs):
        ((repeated, _),) = Counter(key for key, _ in pairs).most_common(1)
        raise ValueError(f"the key {repeated[:60]!r} stands twice in one object")
    return content


def _unreadable(path: Readable, error: OSError) -> CoattendError:
    return CoattendError(f"cannot be read ({error.strerror})", where=str(path), cure="Check the path")


def _empty(path: Readable) -> CoattendError:
    return CoattendError("is empty", where=str(path), cure=REFETCH)
