"""How long each text is, in words and in subwords."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads

from coattend.text.identity import text_id


@dataclass(frozen=True)
class Lengths:
    """Lengths of all texts of a benchmark.

    Attributes:
        rows: Text id to row.
        words: Words of each text, punctuation included [texts].
        tokens: Subwords of each text [texts].
    """

    rows: dict[str, int]
    words: np.ndarray
    tokens: np.ndarray

    @classmethod
    def read(cls, tags: pads.Dataset, tokens: pads.Dataset) -> "Lengths":
        """Read them from the stored tags and tokens, which are of the same texts in the same order."""
        names, words = _counted(tags, "tags")
        same, subwords = _counted(tokens, "input_ids")
        if names != same:
            raise ValueError("tags and tokens are not of the same texts")
        return cls({name: row for row, name in enumerate(names)}, words, subwords)

    def words_of(self, text: str) -> int:
        """Words of a text; of one that was not tagged by itself, those between spaces."""
        row = self.rows.get(text_id(text))
        return len(text.split()) if row is None else int(self.words[row])

    def row(self, text: str) -> int:
        """The row of a text."""
        return self.rows[text_id(text)]


def _counted(table: pads.Dataset, column: str) -> tuple[list[str], np.ndarray]:
    names: list[str] = []
    counts: list[np.ndarray] = [np.zeros(0, np.int64)]
    for batch in table.to_batches(columns=["text_id", column]):
        names += batch.column("text_id").to_pylist()
        counts.append(pc.list_value_length(batch.column(column)).cast(pa.int64()).to_numpy(zero_copy_only=False))
    return names, np.concatenate(counts)
