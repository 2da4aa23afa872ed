"""The tokens of all texts of a benchmark as flat memory-mapped arrays, looked up by text id."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads

from coattend.batches.memory_mapped import (
    ROWS,
    MappedFile,
    RowIndex,
    memory_mapped_table,
    release_pages,
    rows_of,
    stream_batches,
)
from coattend.errors import CoattendError
from coattend.text.hashing import text_id


@dataclass(frozen=True)
class Tokens:
    """Subword tokens of many texts.

    Attributes:
        rows: Text id to row.
        offsets: Row r's tokens are ``offsets[r]:offsets[r + 1]`` of the flat arrays.
        tag_ids: Tag ids of the words that the subwords belong to.
        starts: Index of each subword's first character in its text.
        ends: Index behind its last character.
        tokenizer: Digest of the tokenizer that made the tokens.
        word_index: Index within the text of the word that each subword belongs to, -1 for none; empty if not loaded.
    """

    rows: Mapping[str, int]
    offsets: np.ndarray
    input_ids: np.ndarray
    tag_ids: np.ndarray
    starts: np.ndarray
    ends: np.ndarray
    tagger: str
    tokenizer: str
    word_index: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int32), kw_only=True)

    @classmethod
    def from_table(cls, table: pads.Dataset, *, with_word_index: bool = False) -> "Tokens":
        """Load a benchmark's tokens table, with ``word_index`` or without; once, while the table is open."""
        loaded = _loaded.setdefault(table, {})
        if with_word_index not in loaded:
            loaded[with_word_index] = cls._load(table, with_word_index)
        return loaded[with_word_index]

    @classmethod
    def _load(cls, table: pads.Dataset, with_word_index: bool) -> "Tokens":
        columns = ["input_ids", "tag_ids", "starts", "ends", *(["word_index"] if with_word_index else [])]
        metadata = table.schema.metadata or {}
        return cls(
            tagger=metadata.get(b"tagger", b"unknown").decode(),
            tokenizer=metadata.get(b"tokenizer", b"").decode(),
            **flat_columns(table, columns),
        )

    def row(self, text: str) -> int:
        """Return the row of a text; raise if it was not tokenised."""
        return self.rows_of([text])[0]

    def rows_of(self, texts: Sequence[str]) -> list[int]:
        """Return the rows of texts; raise if one was not tokenised."""
        rows = rows_of(self.rows, map(text_id, texts))
        if -1 in rows:
            cure = "Run the pipelines ingestion, tagging and tokenization"
            raise CoattendError("has no tokens", where=f"text {texts[rows.index(-1)][:60]!r}", cure=cure)
        return rows

    def length(self, row: int) -> int:
        """Return the number of tokens of a row."""
        return int(self.offsets[row + 1] - self.offsets[row])

    def total_length(self, rows: Iterable[int]) -> int:
        """Return the number of tokens of rows."""
        return sum(map(self.length, rows))

    def slice(self, row: int) -> slice:
        """Return the slice of the flat arrays that holds a row."""
        return slice(int(self.offsets[row]), int(self.offsets[row + 1]))

    def id_counts(self, rows: Iterable[int]) -> np.ndarray:
        """Count each id among the tokens of rows, of which each counts once, up to the greatest id [ids]."""
        mask = np.zeros(len(self.offsets) - 1, bool)
        for row in rows:
            mask[row] = True
        counts = np.zeros(0, np.int64)
        # A piece at a time: all ids at once would take four bytes a token.
        for start in range(0, len(mask), ROWS):
            offsets = self.offsets[start : start + ROWS + 1]
            ids = self.input_ids[offsets[0] : offsets[-1]][np.repeat(mask[start : start + ROWS], np.diff(offsets))]
            added = np.bincount(ids, minlength=len(counts))
            added[: len(counts)] += counts
            counts = added
            release_pages()
        return counts

    def content(self, row: int) -> bytes:
        """Return the ids and tags of a row as bytes."""
        row_slice = self.slice(row)
        return self._content(self.input_ids[row_slice]) + self.tag_ids[row_slice].tobytes() + b"|"

    def digest(self, rows: Iterable[int]) -> str:
        """Hash the ids and tags of rows, in their order."""
        return hashlib.sha256(b"".join(map(self.content, rows))).hexdigest()

    def _content(self, ids: np.ndarray) -> bytes:
        return ids.tobytes()


_loaded: WeakKeyDictionary[pads.Dataset, dict[bool, Tokens]] = WeakKeyDictionary()
"""Tokens of the tables that are open, with ``word_index`` and without."""


def flat_columns(
    table: pads.Dataset, columns: list[str], **converters: Callable[[pa.Array], np.ndarray]
) -> dict[str, Any]:
    """Flatten list columns of a table of texts, whose lists have one length in each row, into memory-mapped arrays.

    Converters map a column's values to int32 numbers.

    Returns:
        The columns by name, ``offsets`` of the rows in them, and ``rows`` by text id.
    """
    value_types = {name: table.schema.field(name).type.value_type for name in columns}
    # Arrow's own `to_pandas_dtype` imports pandas.
    dtypes = {
        name: np.dtype(np.int32) if name in converters else pa.array([], value_types[name]).to_numpy().dtype
        for name in columns
    }
    files = {name: MappedFile() for name in (*columns, "offsets")}
    files["offsets"].write(np.int64(0))

    def text_ids() -> Iterator[pa.RecordBatch]:
        end = 0
        for batch in stream_batches(table, ["text_id", *columns]):
            for name in columns:
                values = batch.column(name).flatten()
                numbers = converters[name](values) if name in converters else values.to_numpy(zero_copy_only=False)
                files[name].write(np.ascontiguousarray(numbers, dtypes[name]))
            # Offsets of this batch continue those of the batches before.
            ends = end + np.cumsum(pc.list_value_length(batch.column(columns[0])).to_numpy(), dtype=np.int64)
            files["offsets"].write(ends)
            end = int(ends[-1]) if len(ends) else end
            yield batch.select(["text_id"])

    # Reading the ids is what fills the files.
    ids = memory_mapped_table(text_ids(), pa.schema([table.schema.field("text_id")]))
    dtypes["offsets"] = np.dtype(np.int64)
    return {name: file.array(dtypes[name]) for name, file in files.items()} | {"rows": RowIndex(ids["text_id"])}


def pad_rows(rows: Sequence[Sequence[int] | np.ndarray], filler: int) -> np.ndarray:
    """Pad lists of numbers behind their ends to the longest, as one array of int64."""
    padded = np.full((len(rows), max(len(row) for row in rows)), filler, np.int64)
    for index, row in enumerate(rows):
        padded[index, : len(row)] = row
    return padded
