"""The tokens of all texts as a few flat arrays, found by text id."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads

from coattend.errors import CoattendError
from coattend.text.identity import text_id
from coattend.training.mapped import MappedFile, mapped_table, streamed
from coattend.training.rows import Rows


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
    def from_table(cls, data: pads.Dataset, *, of_words: bool = False) -> "Tokens":
        """Read the stored tokens of a benchmark.

        Args:
            data: Its tokens table.
            of_words: Whether to read which word each lies in.
        """
        columns = ["input_ids", "tag_ids", "starts", "ends", *(["word_index"] if of_words else [])]
        metadata = data.schema.metadata or {}
        return cls(
            tagger=metadata.get(b"tagger", b"unknown").decode(),
            tokenizer=metadata.get(b"tokenizer", b"").decode(),
            **flat_columns(data, columns),
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


def flat_columns(
    data: pads.Dataset, columns: list[str], **converted: Callable[[pa.Array], np.ndarray]
) -> dict[str, Any]:
    """A table's lists, each column as one mapped array.

    Args:
        data: A table of texts.
        columns: Columns of lists; in each row all lists are of one length.
        converted: What makes int32 numbers of a column's values, where these are none.

    Returns:
        The columns by name, ``offsets`` of rows in them, and ``rows`` by text id.
    """
    kinds = {name: np.int32 if name in converted else _kind(data, name) for name in columns}
    files = {name: MappedFile() for name in (*columns, "offsets")}
    files["offsets"].write(np.int64(0))

    def names() -> Iterator[pa.RecordBatch]:
        end = 0
        for batch in streamed(data, ["text_id", *columns]):
            for name in columns:
                values = batch.column(name).flatten()
                make = converted.get(name, _numbers)
                files[name].write(np.ascontiguousarray(make(values), kinds[name]))
            ends = end + np.cumsum(pc.list_value_length(batch.column(columns[0])).to_numpy(), dtype=np.int64)
            files["offsets"].write(ends)
            end = int(ends[-1]) if len(ends) else end
            yield batch.select(["text_id"])

    found = mapped_table(names(), pa.schema([data.schema.field("text_id")]))
    kinds["offsets"] = np.int64
    return {name: file.array(kinds[name]) for name, file in files.items()} | {"rows": Rows(found["text_id"])}


def _kind(data: pads.Dataset, column: str) -> np.dtype:
    return np.dtype(data.schema.field(column).type.value_type.to_pandas_dtype())


def _numbers(values: pa.Array) -> np.ndarray:
    return values.to_numpy(zero_copy_only=False)
