"""Rows that wait on disk until they are drawn as tables."""

import tempfile
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from coattend.errors import CoattendError

ROWS = 5_000
CHARACTERS = 16_000_000
"""A batch is written when it has so many rows, or about so many characters."""


class Spool:
    """A table that grows row by row in a temporary file, and is then read in batches, as often as wanted.

    Args:
        schema: Its columns.
    """

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 (lives as long as the spool, and vanishes with it)
        self._writer = pa.ipc.new_stream(self._file, schema, options=pa.ipc.IpcWriteOptions(compression="lz4"))
        self._waiting: list[tuple[Any, ...]] = []
        self._characters = 0
        self._dropped: np.ndarray | None = None
        self.rows = 0

    def add(self, row: tuple[Any, ...], *, characters: int) -> None:
        """Add a row: its values in the order of the columns, and about how long they are."""
        self._waiting.append(row)
        self._characters += characters
        self.rows += 1
        if len(self._waiting) >= ROWS or self._characters >= CHARACTERS:
            self._write()

    def finish(self) -> None:
        """Write what is left; no row can be added any more."""
        self._write()
        self._writer.close()

    def drop(self, rows: np.ndarray) -> None:
        """Leave rows out of what is read: a boolean for each row."""
        self._dropped = rows if rows.any() else None

    def __iter__(self) -> Iterator[pa.Table]:
        """The rows as tables, in the order in which they came."""
        for start, table in self._stored():
            yield table if self._dropped is None else table.filter(~self._dropped[start : start + len(table)])

    def dropped(self, columns: list[str]) -> Iterator[tuple[int, tuple[Any, ...]]]:
        """The rows that are left out, with their numbers."""
        if self._dropped is None:
            return
        for start, table in self._stored():
            for index in np.flatnonzero(self._dropped[start : start + len(table)]):
                yield int(start + index), tuple(table.column(name)[int(index)].as_py() for name in columns)

    def _stored(self) -> Iterator[tuple[int, pa.Table]]:
        self._file.seek(0)
        start = 0
        for batch in pa.ipc.open_stream(self._file):
            yield start, pa.Table.from_batches([batch])
            start += batch.num_rows

    def _write(self) -> None:
        if not self._waiting:
            return
        columns = zip(*self._waiting, strict=True)
        arrays = [pa.array(values, field.type) for values, field in zip(columns, self._schema, strict=True)]
        self._waiting, self._characters = [], 0
        try:
            self._writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=self._schema))
        except OSError as error:
            cure = "Free some space, or set TMPDIR to a folder that has more"
            raise CoattendError(f"cannot be written ({error})", where=tempfile.gettempdir(), cure=cure) from error
