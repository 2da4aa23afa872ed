"""Rows of Parquet files, as people download benchmarks today."""

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from coattend.benchmarks.files import CURE, Readable
from coattend.errors import CoattendError

TEXT, LIST, STRUCT, ANYTHING = "text", "a list of texts", "a struct", "anything"
ROWS = 1_000


def rows(
    path: Readable, columns: Mapping[str, str], *, optional: frozenset[str] = frozenset(), strict: bool = False
) -> Iterator[dict[str, Any]]:
    """The rows of a file, some at a time.

    Args:
        path: The file.
        columns: Column to what it must hold: `TEXT`, `LIST` ...
        optional: Columns that may be missing.
        strict: Whether columns that are not named are refused; else they are passed over.

    Raises:
        CoattendError: If the file is not whole, has no rows, or a column is missing or of another type.
    """
    try:
        with path.open("rb") as content:
            file = pq.ParquetFile(content)
            known = [name for name in columns if name in file.schema_arrow.names]
            _check(path, file.schema_arrow, columns, optional)
            strange = [name for name in file.schema_arrow.names if name not in columns]
            if strict and strange:
                raise CoattendError(f"has an unknown column {strange[0]!r}", where=str(path), cure=_needs(columns))
            if not file.metadata.num_rows:
                raise CoattendError("has no rows", where=str(path), cure=CURE)
            for batch in file.iter_batches(ROWS, columns=known):
                batch.validate(full=True)  # Arrow takes a text's bytes as they are, UTF-8 or not.
                yield from batch.to_pylist()
    # ValueError, OverflowError: values that Python has not, such as a day of the year 10,000.
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        reason = str(error).splitlines()[0]
        raise CoattendError(f"is not a whole Parquet file ({reason})", where=str(path), cure=CURE) from None


def _check(path: Readable, schema: pa.Schema, columns: Mapping[str, str], optional: frozenset[str]) -> None:
    for name, wanted in columns.items():
        if name not in schema.names:
            if name in optional:
                continue
            held = ", ".join(schema.names)
            raise CoattendError(f"has no column {name!r} (it has {held})", where=str(path), cure=_needs(columns))
        found = schema.field(name).type
        if not _is(found, wanted):
            problem = f"the column {name!r} is {found} instead of {wanted}"
            raise CoattendError(problem, where=str(path), cure=_needs(columns))


def _is(found: pa.DataType, wanted: str) -> bool:
    if pa.types.is_dictionary(found):
        found = found.value_type
    if wanted == LIST:
        is_list = pa.types.is_list(found) or pa.types.is_large_list(found)
        return is_list and _is(found.value_type, TEXT)
    if wanted == TEXT:
        return pa.types.is_string(found) or pa.types.is_large_string(found)
    return wanted == ANYTHING or pa.types.is_struct(found)


def _needs(columns: Mapping[str, str]) -> str:
    return "It needs " + ", ".join(f"{name} ({kind})" for name, kind in columns.items())
