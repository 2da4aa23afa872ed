"""Data that need not fit into memory: written once to a temporary file, which is mapped and read page by page.

The file has no name, and vanishes with the last array that reads it. What is small stays in memory.
"""

import mmap
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterable
from typing import IO, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.dataset as pads

from coattend.errors import CoattendError

SMALL = 1 << 20
"""Bytes that are kept in memory until they are written together."""

ROWS = 8_192
"""Rows of a table that are read at once."""

_DRAWERS = 64

_maps: "weakref.WeakSet[mmap.mmap]" = weakref.WeakSet()
_lock = threading.Lock()
"""Trials may be trained by several threads."""


class MappedFile:
    """Bytes that grow at their end, and are then mapped; a file to those who write.

    Args:
        small: Bytes that are kept in memory until they are written together.
    """

    closed = False

    def __init__(self, small: int = SMALL) -> None:
        self._small, self._waiting = small, bytearray()
        self._file: IO[bytes] | None = None

    def write(self, content: Any) -> int:
        """Add bytes, or whatever has some.

        Raises:
            CoattendError: If the disk refuses.
        """
        given = memoryview(content)
        self._waiting += given.cast("B") if given.nbytes else b""
        if len(self._waiting) >= self._small:
            self.flush()
        return given.nbytes

    def flush(self) -> None:
        """Write what waits, if it is much."""
        if len(self._waiting) < self._small and self._file is None:
            return
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile()  # noqa: SIM115 (lives as long as it is mapped)
            self._file.write(self._waiting)
            self._file.flush()
        except OSError as error:
            cure = "Free some space, or set TMPDIR to a folder that has more"
            raise CoattendError(f"cannot be written ({error})", where=tempfile.gettempdir(), cure=cure) from error
        self._waiting = bytearray()

    def mapped(self) -> "mmap.mmap | bytes":
        """Everything that was written."""
        self.flush()
        if self._file is None:
            return bytes(self._waiting)
        pages = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
        with _lock:
            _maps.add(pages)
        return pages

    def array(self, kind: npt.DTypeLike) -> np.ndarray:
        """Everything that was written, as numbers."""
        content = self.mapped()
        return np.frombuffer(content, kind) if len(content) else np.zeros(0, kind)


def mapped_table(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    """A table whose columns are mapped.

    Args:
        batches: Its rows.
        schema: Its columns.
    """
    file = MappedFile()
    with pa.ipc.new_stream(pa.PythonFile(file, mode="w"), schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
            let_go()  # What the batch was read from may be mapped, too.
    pa.default_memory_pool().release_unused()  # Else what reading the rows took stays with the process.
    return pa.ipc.open_stream(pa.py_buffer(file.mapped())).read_all()


def in_order(parts: Iterable[np.ndarray], kind: npt.DTypeLike, first: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """All values from the least to the greatest, mapped; a 64th of them is in memory, if they are evenly spread.

    Args:
        parts: The values, few at a time.
        kind: What they are.
        first: The six bits of each that come first in their order.
    """
    drawers = [MappedFile(SMALL // _DRAWERS) for _ in range(_DRAWERS)]
    for values in parts:
        drawer = first(values)
        for number in np.unique(drawer):
            drawers[number].write(values[drawer == number])
        let_go()
    file = MappedFile()
    for one in drawers:
        file.write(np.sort(one.array(kind)))
    return file.array(kind)


def filtered(table: pa.Table, wanted: np.ndarray) -> pa.Table:
    """Some rows of a table, mapped.

    Args:
        table: The table.
        wanted: Whether each row is one of them.
    """
    cuts = range(0, table.num_rows, ROWS)
    parts = (table.slice(cut, ROWS).filter(pa.array(wanted[cut : cut + ROWS])) for cut in cuts)
    return mapped_table((batch for part in parts for batch in part.to_batches()), table.schema)


def streamed(data: pads.Dataset, columns: list[str], **how: Any) -> Iterable[pa.RecordBatch]:
    """A stored table's rows in their order, few at a time."""
    # A buffer of what comes next would hold all of a file that was read, until its last row.
    unbuffered = pads.ParquetFragmentScanOptions(pre_buffer=False)
    ahead = {"batch_readahead": 1, "fragment_readahead": 1, "fragment_scan_options": unbuffered}
    return data.to_batches(columns=columns, batch_size=ROWS, **ahead, **how)


def let_go() -> None:
    """Give pages that were read back to the system, which keeps them for the next reader as long as it has room."""
    with _lock:
        known = list(_maps)
    for pages in known:
        pages.madvise(mmap.MADV_DONTNEED)
