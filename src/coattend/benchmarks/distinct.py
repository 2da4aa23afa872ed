"""Each distinct text once, in shards by its hash, gathered on disk."""

import hashlib
import tempfile
from collections.abc import Sequence
from typing import Literal, get_args

import pyarrow as pa

from coattend.tables import TEXTS
from coattend.text.identity import text_id
from coattend.text.questions import question_domains

Kind = Literal["passage", "question", "filled", "option"]
KINDS = get_args(Kind)
"""In the order in which they win where one text is of several kinds."""

VERSION = 1
"""Raised whenever other texts would be gathered from the same tables."""

CHARACTERS = 16_000_000
TEXTS_WAITING = 100_000
_STORED = pa.schema([("text_id", pa.string()), ("kind", pa.int8()), ("text", pa.string())])


def shard_name(number: int, shards: int) -> str:
    """The name of a shard. With their number in it, shards of another size never overwrite one another."""
    return f"{number:04d}-of-{shards:04d}"


class DistinctTexts:
    """Texts that come in any order and number, each kept once; at most one shard is in memory.

    Args:
        shards: How many shards.
    """

    def __init__(self, shards: int) -> None:
        self._names = [shard_name(number, shards) for number in range(shards)]
        self._waiting: dict[str, int] = {}
        self._characters = 0
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 (lives as long as the texts, and vanishes with them)
        self._segments: list[list[tuple[int, int]]] = [[] for _ in range(shards)]

    def add(self, text: str, kind: Kind) -> None:
        """Add a text."""
        rank = KINDS.index(kind)
        known = self._waiting.get(text)
        if known is None:
            self._characters += len(text)
        if known is None or rank < known:
            self._waiting[text] = rank
        if self._characters >= CHARACTERS or len(self._waiting) >= TEXTS_WAITING:
            self._write()

    def add_question(
        self, task: str, question: str, options: Sequence[str] | None, *, fill_blanks: bool, words_as_options: bool
    ) -> None:
        """Add the texts in the question domain of a question; see `coattend.text.questions.question_domains`."""
        if task == "word":  # Readers that look for a word in the passage read the question as it is.
            self.add(question, "question")
        domains = question_domains(task, question, options, fill_blanks=fill_blanks, words_as_options=words_as_options)
        for first, *others in domains:
            self.add(first, "question" if first == question else "filled")
            for option in others:
                self.add(option, "option")

    def keys(self) -> dict[str, str]:
        """Shard name to a digest of its texts and their kinds."""
        self._write()
        return {name: self._key(number) for number, name in enumerate(self._names)}

    def table(self, name: str) -> pa.Table:
        """The texts of one shard, sorted by id."""
        rows = sorted(self._rows(self._names.index(name)).items())
        columns = [
            [identity for identity, _ in rows],
            [KINDS[rank] for _, (rank, _) in rows],
            [text for _, (_, text) in rows],
        ]
        arrays = [pa.array(values, field.type) for values, field in zip(columns, TEXTS, strict=True)]
        return pa.Table.from_arrays(arrays, schema=TEXTS)

    def _key(self, shard: int) -> str:
        lines = sorted(f"{identity} {rank}\n" for identity, (rank, _) in self._rows(shard).items())
        return hashlib.sha256("".join(lines).encode()).hexdigest()

    def _rows(self, shard: int) -> dict[str, tuple[int, str]]:
        rows: dict[str, tuple[int, str]] = {}
        for offset, size in self._segments[shard]:
            self._file.seek(offset)
            columns = pa.ipc.open_stream(self._file.read(size)).read_all().to_pydict()
            for identity, rank, text in zip(*columns.values(), strict=True):
                if identity not in rows or rank < rows[identity][0]:
                    rows[identity] = (rank, text)
        return rows

    def _write(self) -> None:
        shards: dict[int, list[tuple[str, int, str]]] = {}
        for text, rank in self._waiting.items():
            identity = text_id(text)
            shards.setdefault(int(identity[:8], 16) % len(self._names), []).append((identity, rank, text))
        self._waiting, self._characters = {}, 0
        for shard, rows in shards.items():
            offset = self._file.seek(0, 2)
            with pa.ipc.new_stream(self._file, _STORED) as writer:
                writer.write_table(pa.table([list(column) for column in zip(*rows, strict=True)], schema=_STORED))
            self._segments[shard].append((offset, self._file.tell() - offset))
