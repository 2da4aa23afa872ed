"""The subwords of texts beside their words, for vectors of words in their context."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from coattend.readers.encoders.context import OF_NO_WORD, PADDING
from coattend.text.subwords import SpecialLayout
from coattend.training.examples import Example
from coattend.training.tokens import Tokens
from coattend.training.words import WordTokens


class Side(NamedTuple):
    """The passage or the question of a sequence.

    Attributes:
        texts: Rows of its texts, which stand one behind the other.
        window: The first of their words that is read, and how many are.
        before: Position of that first word in its domain.
    """

    texts: tuple[int, ...]
    window: tuple[int, int]
    before: int

    @property
    def length(self) -> int:
        """Positions of its domain up to its last word."""
        return self.before + self.window[1]


def sides(example: Example, before: int) -> Iterator[tuple[Side, Side]]:
    """Passage and question of each of an example's sequences.

    Args:
        example: The question.
        before: Positions before a passage's first word.
    """
    for texts, size, window in zip(example.sequences, example.lengths, example.windows, strict=True):
        yield Side((example.passage,), window, before), Side(texts, (0, size), 0)


@dataclass(frozen=True)
class Pieces:
    """Subwords of the texts whose words a reader reads.

    Attributes:
        words: The words.
        tokens: The subwords, with the word that each lies in.
        rows: Row of the subwords for each row of the words.
        layout: Special tokens of their tokenizer.
    """

    words: WordTokens
    tokens: Tokens
    rows: np.ndarray
    layout: SpecialLayout

    @classmethod
    def beside(cls, words: WordTokens, tokens: Tokens, layout: SpecialLayout) -> "Pieces":
        """Bring words and subwords of the same texts together."""
        rows = np.full(len(words.offsets) - 1, -1)
        for name, row in words.rows.items():
            rows[row] = tokens.rows[name]
        return cls(words, tokens, rows, layout)

    def text(self, side: Side) -> np.ndarray:
        """Subwords of one side of a sequence, read alone.

        Args:
            side: The side.

        Returns:
            Ids and the words that they lie in, counted in the domain, int64 [2, M]; special tokens lie in none.
        """
        (first, count), ids, words, passed = side.window, [], [], 0
        for row in side.texts:
            where = self.tokens.slice(int(self.rows[row]))
            of_word = self.tokens.word_index[where].astype(np.int64)
            inside = (of_word >= first - passed) & (of_word < first + count - passed)
            ids.append(self.tokens.input_ids[where][inside])
            words.append(of_word[inside] + passed - first + side.before)
            passed += self.words.length(row)
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
