"""The subwords of texts beside their words, for vectors of words in their context."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from coattend.readers.encoders.context import OF_NO_WORD, PADDING
from coattend.text.subwords import SpecialLayout
from coattend.training.tokens import Tokens
from coattend.training.words import WordTokens


@dataclass(frozen=True)
class Pieces:
    """Subwords of the texts whose words a reader reads.

    Attributes:
        tokens: The subwords, with the word that each lies in.
        rows: Row of the subwords for each row of the words.
        layout: Special tokens of their tokenizer.
    """

    tokens: Tokens
    rows: np.ndarray
    layout: SpecialLayout

    @classmethod
    def beside(cls, words: WordTokens, tokens: Tokens, layout: SpecialLayout) -> "Pieces":
        """Bring words and subwords of the same texts together."""
        return cls(tokens, np.array([tokens.rows[name] for name in words.rows]), layout)

    def text(self, rows: Sequence[int], lengths: Sequence[int], window: tuple[int, int], shift: int) -> np.ndarray:
        """Subwords of one side of a sequence, read alone.

        Args:
            rows: Rows of the words of its texts, which stand one behind the other.
            lengths: How many words each has.
            window: The first of the words that are read, and how many.
            shift: Position of that first word in its domain.

        Returns:
            Ids and the words that they lie in, counted in the domain, int64 [2, M]; special tokens lie in none.
        """
        ids, words, before = [], [], 0
        for row, length in zip(rows, lengths, strict=True):
            where = self.tokens.slice(int(self.rows[row]))
            of_word = self.tokens.word_index[where].astype(np.int64)
            inside = (of_word >= window[0] - before) & (of_word < window[0] + window[1] - before)
            ids.append(self.tokens.input_ids[where][inside])
            words.append(of_word[inside] + before - window[0] + shift)
            before += length
        prefix, suffix = (np.array(special, np.int64) for special in (self.layout.prefix, self.layout.suffix))
        no_word = [np.full(len(special), OF_NO_WORD) for special in (prefix, suffix)]
        return np.stack([np.concatenate([prefix, *ids, suffix]), np.concatenate([no_word[0], *words, no_word[1]])])


def padded(texts: Sequence[np.ndarray], pad_id: int) -> tuple[np.ndarray, np.ndarray]:
    """What `Pieces.text` gave for S sequences as two arrays [S, M]."""
    longest = max(text.shape[1] for text in texts)
    ids = np.full((len(texts), longest), pad_id, np.int64)
    words = np.full((len(texts), longest), PADDING, np.int64)
    for row, text in enumerate(texts):
        ids[row, : text.shape[1]], words[row, : text.shape[1]] = text
    return ids, words
