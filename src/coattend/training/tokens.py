"""The tokens of all texts as a few flat arrays, found by text id."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.dataset as pads

from coattend.errors import CoattendError
from coattend.text.identity import text_id


@dataclass(frozen=True)
class Tokens:
    """Subword tokens of many texts.

    Attributes:
        rows: Text id to row.
        offsets: Row r's tokens lie at ``offsets[r]:offsets[r + 1]`` of the flat arrays.
        input_ids: Subword ids.
        tag_ids: Tag ids of the words that the subwords lie in.
        starts: First character of each subword in its text.
        ends: Character after each subword's last.
        tagger: Name of the tagger that the tags come from.
        tokenizer: Digest of the tokenizer that the tokens come from.
        word_index: Place of the word that each subword lies in within its text, -1 for none; empty if not asked for.
    """

    rows: dict[str, int]
    offsets: np.ndarray
    input_ids: np.ndarray
    tag_ids: np.ndarray
    starts: np.ndarray
    ends: np.ndarray
    tagger: str
    tokenizer: str
    word_index: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int32), kw_only=True)

    @classmethod
    def from_table(cls, data: pads.Dataset, *, of_words: bool = False) -> "Tokens":
        """Read the stored tokens of a benchmark.

        Args:
            data: Its tokens table.
            of_words: Whether to read which word each lies in.
        """
        columns = ["input_ids", "tag_ids", "starts", "ends", *(["word_index"] if of_words else [])]
        table = data.to_table(columns=["text_id", *columns]).combine_chunks()
        flat = {name: flatten(table.column(name)) for name in columns}
        lengths = pa.compute.list_value_length(table.column("input_ids")).to_numpy()
        metadata = data.schema.metadata or {}
        return cls(
            rows={name: row for row, name in enumerate(table.column("text_id").to_pylist())},
            offsets=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
            tagger=metadata.get(b"tagger", b"unknown").decode(),
            tokenizer=metadata.get(b"tokenizer", b"").decode(),
            **flat,
        )

    def row(self, text: str) -> int:
        """The row of a text.

        Raises:
            CoattendError: If the text was not tokenised.
        """
        try:
            return self.rows[text_id(text)]
        except KeyError:
            raise CoattendError(
                "has no tokens",
                where=f"text {text[:60]!r}",
                cure="Run the pipelines ingestion, tagging and tokenization",
            ) from None

    def length(self, row: int) -> int:
        """How many tokens a row has."""
        return int(self.offsets[row + 1] - self.offsets[row])

    def slice(self, row: int) -> slice:
        """Where a row's tokens lie in the flat arrays."""
        return slice(int(self.offsets[row]), int(self.offsets[row + 1]))

    def digest(self, rows: Iterable[int]) -> str:
        """A hash of the tokens of some rows, in their order."""
        content = hashlib.sha256()
        for row in rows:
            where = self.slice(row)
            content.update(self.input_ids[where].tobytes())
            content.update(self.tag_ids[where].tobytes() + b"|")
        return content.hexdigest()


def flatten(column: pa.ChunkedArray) -> np.ndarray:
    """The values of all lists of a column, one after the other."""
    chunks = [chunk.flatten().to_numpy(zero_copy_only=False) for chunk in column.chunks]
    return np.concatenate(chunks) if chunks else np.zeros(0, np.int32)
