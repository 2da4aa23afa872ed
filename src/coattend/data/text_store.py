"""Rows and distinct texts gathered on disk, so that memory does not grow with the benchmark."""

import hashlib
import tempfile
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, get_args

import numpy as np
import pyarrow as pa
import pyarrow.dataset as pads

from coattend.errors import CoattendError
from coattend.schemas import TEXTS
from coattend.text.cloze import question_domains
from coattend.text.hashing import text_id

# A batch of a spool is written at so many rows, or about so many characters.
BATCH_ROWS = 5_000
BATCH_CHARACTERS = 16_000_000
# Distinct texts in memory are written at so many texts or characters.
BUFFER_TEXTS = 100_000
BUFFER_CHARACTERS = 16_000_000

TextKind = Literal["passage", "question", "filled", "option"]
TEXT_KINDS: tuple[TextKind, ...] = get_args(TextKind)
"""By priority, for a text that is of several kinds."""

TEXTS_VERSION = 1
"""Increased if other texts are gathered from the same tables."""

_STORED = pa.schema([("text_id", pa.string()), ("kind", pa.int8()), ("text", pa.string())])


class Spool:
    """A table that grows row by row in a temporary file, and is then read in batches, as often as needed."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 (lives as long as the spool, and vanishes with it)
        self._writer = pa.ipc.new_stream(self._file, schema, options=pa.ipc.IpcWriteOptions(compression="lz4"))
        self._buffer: list[tuple[object, ...]] = []
        self._characters = 0
        self._dropped: np.ndarray | None = None
        self._filled: dict[str, Callable[[slice], pa.Array]] = {}
        self.rows = 0

    def add(self, row: tuple[object, ...], *, characters: int) -> None:
        """Add a row: its values in the order of the columns, and their approximate length."""
        self._buffer.append(row)
        self._characters += characters
        self.rows += 1
        if len(self._buffer) >= BATCH_ROWS or self._characters >= BATCH_CHARACTERS:
            self._flush()

    def finish(self) -> None:
        """Write the last batch; no row can be added any more."""
        self._flush()
        self._writer.close()

    def drop(self, mask: np.ndarray) -> None:
        """Leave rows out of the iteration [rows]."""
        self._dropped = mask if mask.any() else None

    def fill(self, column: str, values: Callable[[slice], pa.Array]) -> None:
        """Replace a column, whose values were not known when the rows came, by values of a slice of all rows."""
        self._filled[column] = values

    def __iter__(self) -> Iterator[pa.Table]:
        """Yield the rows as tables, in the order in which they came."""
        for start, table in self._batches():
            yield table if self._dropped is None else table.filter(~self._dropped[start : start + len(table)])

    def dropped(self, columns: list[str]) -> Iterator[tuple[int, tuple[object, ...]]]:
        """Yield the index and the values of each row that is left out."""
        if self._dropped is None:
            return
        for start, table in self._batches():
            for index in np.flatnonzero(self._dropped[start : start + len(table)]):
                yield int(start + index), tuple(table.column(name)[int(index)].as_py() for name in columns)

    def _batches(self) -> Iterator[tuple[int, pa.Table]]:
        self._file.seek(0)
        start = 0
        for batch in pa.ipc.open_stream(self._file):
            table = pa.Table.from_batches([batch])
            for name, values in self._filled.items():
                field = self._schema.get_field_index(name)
                column = values(slice(start, start + len(table)))
                table = table.set_column(field, self._schema.field(field), column)
            yield start, table
            start += batch.num_rows

    def _flush(self) -> None:
        if not self._buffer:
            return
        batch = pa.record_batch(list(zip(*self._buffer, strict=True)), schema=self._schema)
        self._buffer, self._characters = [], 0
        try:
            self._writer.write_batch(batch)
        except OSError as error:
            raise disk_full(error) from error


def disk_full(error: OSError) -> CoattendError:
    """Return the error of a temporary file that cannot be written."""
    cure = "Free some space, or set TMPDIR to a folder that has more"
    return CoattendError(f"cannot be written ({error})", where=tempfile.gettempdir(), cure=cure)


def shard_name(number: int, shards: int) -> str:
    """Name a shard; with their count in it, shards of different sizes never overwrite one another."""
    return f"{number:04d}-of-{shards:04d}"


class DistinctTexts:
    """Texts that come in any order and number, each stored once; one shard at most is in memory."""

    def __init__(self, shards: int) -> None:
        self._names = [shard_name(number, shards) for number in range(shards)]
        self._buffer: dict[str, int] = {}
        self._characters = 0
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 (lives as long as the texts, and vanishes with them)
        # Offset and size of each segment in the file, by shard.
        self._segments: list[list[tuple[int, int]]] = [[] for _ in range(shards)]

    def add(self, text: str, text_kind: TextKind) -> None:
        """Add a text."""
        priority = TEXT_KINDS.index(text_kind)
        current = self._buffer.get(text)
        if current is None:
            self._characters += len(text)
        if current is None or priority < current:
            self._buffer[text] = priority
        if self._characters >= BUFFER_CHARACTERS or len(self._buffer) >= BUFFER_TEXTS:
            self._flush()

    def add_question(
        self, task: str, question: str, options: Sequence[str] | None, *, fill_blanks: bool, words_as_options: bool
    ) -> None:
        """Add the texts of a question's domains; see `coattend.text.cloze.question_domains`."""
        # Readers that select a word of the passage read the question with its blank.
        if task == "word":
            self.add(question, "question")
        domains = question_domains(task, question, options, fill_blanks=fill_blanks, words_as_options=words_as_options)
        for first, *rest in domains:
            self.add(first, "question" if first == question else "filled")
            for option in rest:
                self.add(option, "option")

    def keys(self) -> dict[str, str]:
        """Map each shard to a digest of its texts and their kinds."""
        self._flush()
        return {name: self._digest(shard) for shard, name in enumerate(self._names)}

    def table(self, name: str) -> pa.Table:
        """Return the texts of one shard, sorted by id."""
        rows = sorted(self._read(self._names.index(name)).items())
        kinds = [TEXT_KINDS[priority] for _, (priority, _) in rows]
        return pa.table([[identity for identity, _ in rows], kinds, [text for _, (_, text) in rows]], schema=TEXTS)

    def _digest(self, shard: int) -> str:
        lines = sorted(f"{identity} {priority}\n" for identity, (priority, _) in self._read(shard).items())
        return hashlib.sha256("".join(lines).encode()).hexdigest()

    def _read(self, shard: int) -> dict[str, tuple[int, str]]:
        """Merge the segments of a shard: text id to its priority and text."""
        texts: dict[str, tuple[int, str]] = {}
        for offset, size in self._segments[shard]:
            self._file.seek(offset)
            columns = pa.ipc.open_stream(self._file.read(size)).read_all().to_pydict()
            for identity, priority, text in zip(*columns.values(), strict=True):
                if identity not in texts or priority < texts[identity][0]:
                    texts[identity] = (priority, text)
        return texts

    def _flush(self) -> None:
        """Append a segment to each shard that has texts in memory."""
        segments: dict[int, list[tuple[str, int, str]]] = {}
        for text, priority in self._buffer.items():
            identity = text_id(text)
            segments.setdefault(int(identity[:8], 16) % len(self._names), []).append((identity, priority, text))
        self._buffer, self._characters = {}, 0
        for shard, rows in segments.items():
            offset = self._file.seek(0, 2)
            with pa.ipc.new_stream(self._file, _STORED) as writer:
                writer.write_table(pa.table(list(zip(*rows, strict=True)), schema=_STORED))
            self._segments[shard].append((offset, self._file.tell() - offset))


def gather_texts(
    passages: pads.Dataset, questions: pads.Dataset, shards: int, *, fill_blanks: bool, words_as_options: bool
) -> DistinctTexts:
    """Gather the distinct texts of stored passages and questions; see `DistinctTexts.add_question`."""
    texts = DistinctTexts(shards)
    for batch in _read_batches(passages, ["text"]):
        for text in batch.column("text").to_pylist():
            texts.add(text, "passage")
    for batch in _read_batches(questions, ["task", "question", "options"]):
        for task, question, options in zip(*batch.to_pydict().values(), strict=True):
            texts.add_question(task, question, options, fill_blanks=fill_blanks, words_as_options=words_as_options)
    return texts


def _read_batches(table: pads.Dataset, columns: list[str]) -> Iterator[pa.RecordBatch]:
    # Without these limits Arrow reads far ahead, and memory grows with the table.
    yield from table.to_batches(columns=columns, batch_size=5_000, batch_readahead=1, fragment_readahead=1)
