"""Memory-mapped columns and records, so that data may be larger than memory."""

import mmap
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import IO, Any, Generic, TypeVar, overload

import msgpack
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pyarrow.parquet as pq

from coattend.errors import CoattendError
from coattend.text.hashing import text_digest

BUFFER_BYTES = 1 << 20
"""Bytes that are kept in memory until they are written together; smaller data never reach the disk."""

ROWS = 8_192
"""Rows of a table that are read at once."""

RECORDS_PER_RELEASE = 32
"""Records that are read before their pages are released: Linux maps 16 pages where one is read."""

_BUCKETS = 64
"""Buckets of the external sort, chosen by the six leading bits of a value."""

LOOK_UPS_PER_RELEASE = 256
"""Names that are looked up before the pages of the index are released."""

_KEY = np.dtype([("digest", "S12"), ("row", ">u8")])
_SORTABLE = np.dtype((np.bytes_, _KEY.itemsize))
_LAST_ROW = (1 << 64) - 1

_maps: "weakref.WeakSet[mmap.mmap]" = weakref.WeakSet()
_lock = threading.Lock()
"""Several threads may train trials."""


class MappedFile:
    """A temporary file that grows at its end and is then memory-mapped."""

    closed = False

    def __init__(self, buffer_bytes: int = BUFFER_BYTES) -> None:
        self._buffer_bytes, self._buffer = buffer_bytes, bytearray()
        self._file: IO[bytes] | None = None

    def write(self, content: Any) -> int:
        """Append an object that supports the buffer protocol, and return its number of bytes."""
        view = memoryview(content)
        self._buffer += view.cast("B") if view.nbytes else b""
        if len(self._buffer) >= self._buffer_bytes:
            self.flush()
        return view.nbytes

    def flush(self) -> None:
        """Write the buffer to disk, unless everything fits into it."""
        if len(self._buffer) < self._buffer_bytes and self._file is None:
            return
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile()  # noqa: SIM115 (lives as long as it is mapped)
            self._file.write(self._buffer)
            self._file.flush()
        except OSError as error:
            cure = "Free some space, or set TMPDIR to a folder that has more"
            raise CoattendError(f"cannot be written ({error})", where=tempfile.gettempdir(), cure=cure) from error
        self._buffer = bytearray()

    def mapped(self) -> "mmap.mmap | bytes":
        """Map everything that was written."""
        self.flush()
        if self._file is None:
            return bytes(self._buffer)
        pages = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
        with _lock:
            _maps.add(pages)
        return pages

    def array(self, dtype: npt.DTypeLike) -> np.ndarray:
        """Map everything that was written, as an array."""
        content = self.mapped()
        return np.frombuffer(content, dtype) if len(content) else np.zeros(0, dtype)


def memory_mapped_table(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    """Write batches to a temporary file and return them as a memory-mapped table."""
    file = MappedFile()
    with pa.ipc.new_stream(pa.PythonFile(file, mode="w"), schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
            # The source of the batch may be mapped, too, and Arrow's pool would keep what reading took.
            release_pages()
            pa.default_memory_pool().release_unused()
    stored = []
    for batch in pa.ipc.open_stream(pa.py_buffer(file.mapped())):
        stored.append(batch)
        # Opening a batch reads a part of it.
        if len(stored) % RECORDS_PER_RELEASE == 0:
            release_pages()
    return pa.Table.from_batches(stored, schema)


def external_sort(chunks: Iterable[np.ndarray], dtype: npt.DTypeLike) -> np.ndarray:
    """Sort byte strings of one length on disk; a 64th of them is in memory at once, if they are evenly distributed."""
    # Distribute the strings over buckets by their leading bits, then sort each bucket in memory.
    buckets = [MappedFile(BUFFER_BYTES // _BUCKETS) for _ in range(_BUCKETS)]
    for values in chunks:
        numbers = values.view(np.uint8)[:: values.itemsize] >> 2
        for number in np.unique(numbers):
            buckets[number].write(values[numbers == number])
        release_pages()
    file = MappedFile()
    for bucket in buckets:
        file.write(np.sort(bucket.array(dtype)))
    return file.array(dtype)


def filter_rows(table: pa.Table, mask: np.ndarray) -> pa.Table:
    """Return the rows of a table at which a boolean mask is true, memory-mapped."""
    cuts = range(0, table.num_rows, ROWS)
    chunks = (table.slice(cut, ROWS).filter(pa.array(mask[cut : cut + ROWS])) for cut in cuts)
    return memory_mapped_table((batch for chunk in chunks for batch in chunk.to_batches()), table.schema)


def stream_batches(
    table: pads.Dataset, columns: list[str], filter: pads.Expression | None = None
) -> Iterator[pa.RecordBatch]:
    """Read the rows of a stored table that meet a condition on its columns, in its order, a few at a time."""
    for fragment in table.get_fragments():
        if isinstance(fragment, pads.ParquetFileFragment):
            # A scanner of Arrow reads ahead, and its threads keep the memory that they took.
            with fragment.open() as source, pq.ParquetFile(source, pre_buffer=False) as file:
                for batch in file.iter_batches(ROWS, columns=columns, use_threads=False):
                    yield from _filtered(batch.select(columns), filter)
        else:
            for batch in fragment.to_batches(columns=columns, batch_size=ROWS):
                yield from _filtered(batch, filter)


def _filtered(batch: pa.RecordBatch, filter: pads.Expression | None) -> list[pa.RecordBatch]:
    if filter is None:
        return [batch]
    rows: list[pa.RecordBatch] = pa.Table.from_batches([batch]).filter(filter).to_batches()
    return rows


def distinct_values(table: pads.Dataset, column: str) -> list[Any]:
    """Return the distinct values of a column of a stored table, in order of their first occurrence."""
    values: dict[Any, None] = {}
    for batch in stream_batches(table, [column]):
        values |= dict.fromkeys(pc.unique(batch.column(0)).to_pylist())
    return list(values)


def release_pages() -> None:
    """Release mapped pages from this process; Linux caches them for the next read as long as it has memory."""
    with _lock:
        maps = list(_maps)
    for pages in maps:
        pages.madvise(mmap.MADV_DONTNEED)


Record = TypeVar("Record")


class Records(Sequence[Record], Generic[Record]):
    """A memory-mapped sequence of instances of a dataclass of plain Python values and tuples of them."""

    def __init__(self, record_type: Callable[..., Record], content: np.ndarray, ends: np.ndarray) -> None:
        self._type, self._content, self._ends = record_type, content, ends

    @classmethod
    def write(cls, record_type: Callable[..., Record], records: Iterable[Record]) -> "Records[Record]":
        """Write records of a dataclass to disk; they are drawn one by one."""
        content, ends, end = MappedFile(), MappedFile(), 0
        for count, record in enumerate(records, 1):
            end += content.write(msgpack.packb(tuple(vars(record).values()), unicode_errors="surrogatepass"))
            ends.write(np.int64(end))
            if count % RECORDS_PER_RELEASE == 0:
                release_pages()
        return cls(record_type, content.array(np.uint8), ends.array(np.int64))

    def __len__(self) -> int:
        return len(self._ends)

    @overload
    def __getitem__(self, index: int) -> Record: ...

    @overload
    def __getitem__(self, index: slice) -> list[Record]: ...

    def __getitem__(self, index: int | slice) -> Record | list[Record]:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        # A range resolves negative indices and raises IndexError.
        number = range(len(self))[index]
        start = self._ends[number - 1] if number else 0
        encoded = self._content[start : self._ends[number]]
        return self._type(*msgpack.unpackb(encoded, use_list=False, unicode_errors="surrogatepass"))

    def __iter__(self) -> Iterator[Record]:
        for number in range(len(self)):
            yield self[number]
            if number % RECORDS_PER_RELEASE == 0:
                release_pages()


class RowIndex(Mapping[str, int]):
    """A memory-mapped mapping of names to row numbers; of rows with one name the last counts.

    It is a sorted array of keys: the digest of a name, 12 bytes, and then the number of its row.
    """

    def __init__(self, names: pa.ChunkedArray) -> None:
        self._names = names
        self._keys = external_sort(self._key_chunks(), _SORTABLE)

    def _key_chunks(self) -> Iterator[np.ndarray]:
        names = _stream_names(self._names)
        for start in range(0, len(self._names), ROWS):
            digests = _digests(islice(names, ROWS))
            yield _keys(digests, np.arange(start, start + len(digests)))

    def rows_of(self, names: Iterable[str]) -> np.ndarray:
        """Return the row of each name, -1 for a name that has none."""
        digests = _digests(names)
        rows = np.full(len(digests), -1, np.int64)
        # In the order of the keys, so that few pages are mapped at a time.
        order = np.argsort(digests)
        for start in range(0, len(order) if len(self._keys) else 0, LOOK_UPS_PER_RELEASE):
            members = order[start : start + LOOK_UPS_PER_RELEASE]
            # The last key of a digest has the highest row.
            highest = _keys(digests[members], _LAST_ROW)
            keys = self._keys[self._keys.searchsorted(highest, side="right") - 1].view(_KEY)
            equal = keys["digest"] == digests[members]
            rows[members[equal]] = keys["row"][equal]
            release_pages()
        return rows

    def __getitem__(self, name: str) -> int:
        # The same for one name, in a tenth of the time.
        digest = text_digest(name)
        index = int(self._keys.searchsorted(digest + _LAST_ROW.to_bytes(8), side="right")) - 1
        # NumPy strips zeros from the end.
        key = bytes(self._keys[index]).ljust(_KEY.itemsize, b"\0") if index >= 0 else b""
        if key[: len(digest)] != digest:
            raise KeyError(name)
        return int.from_bytes(key[len(digest) :])

    def __iter__(self) -> Iterator[str]:
        return (name for row, name in enumerate(_stream_names(self._names)) if self[name] == row)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def rows_of(index: Mapping[str, int], names: Iterable[str]) -> list[int]:
    """Return the row of each name, -1 for a name that has none."""
    if isinstance(index, RowIndex):
        rows: list[int] = index.rows_of(names).tolist()
        return rows
    return [index.get(name, -1) for name in names]


def _digests(names: Iterable[str]) -> np.ndarray:
    return np.frombuffer(b"".join(map(text_digest, names)), _KEY["digest"])


def _keys(digests: np.ndarray, rows: npt.ArrayLike) -> np.ndarray:
    """Join digests and rows to byte strings, whose order is that of both."""
    keys = np.empty(len(digests), _KEY)
    keys["digest"], keys["row"] = digests, rows
    return keys.view(_SORTABLE)


def _stream_names(names: pa.ChunkedArray) -> Iterator[str]:
    for start in range(0, len(names), ROWS):
        yield from names.slice(start, ROWS).to_pylist()
        release_pages()


class _Column(Mapping[str, str]):
    """Values of a column by the names of their rows, which are indexed at the first look-up."""

    def __init__(self, names: pa.ChunkedArray, values: pa.ChunkedArray) -> None:
        self._names, self._values = names, values

    @cached_property
    def _rows(self) -> RowIndex:
        return RowIndex(self._names)

    def __getitem__(self, name: str) -> str:
        text: str = self._values[self._rows[name]].as_py()
        return text

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


class PassageTexts(_Column):
    """Text by passage id, from a passages table."""

    def __init__(self, passages: pads.Dataset) -> None:
        columns = ["passage_id", "text"]
        schema = pa.schema([passages.schema.field(name) for name in columns])
        table = memory_mapped_table(stream_batches(passages, columns), schema)
        super().__init__(*(table[name] for name in columns))


class PassagesByQuestion(_Column):
    """Passage text by question id; the passages are read at the first look-up."""

    def __init__(self, questions: pa.Table, passages: pads.Dataset) -> None:
        super().__init__(questions["question_id"], questions["passage_id"])
        self._passages = passages

    def __getitem__(self, question_id: str) -> str:
        return self._texts[super().__getitem__(question_id)]

    @cached_property
    def _texts(self) -> PassageTexts:
        return PassageTexts(self._passages)
