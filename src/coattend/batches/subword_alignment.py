"""Subwords aligned with words, for contextual vectors of words."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from coattend.batches.examples import Example
from coattend.batches.tokens import Tokens, pad_rows
from coattend.batches.word_tokens import WordTokens
from coattend.readers.encoders.word_features import OF_NO_WORD, PADDING
from coattend.text.tokenizer import SpecialLayout


class TextSpan(NamedTuple):
    """The passage or the question of a sequence: rows of its texts, which follow one another.

    Attributes:
        window: The first of their words that is read, and the number of words.
        offset: Position of that first word in its domain.
    """

    texts: tuple[int, ...]
    window: tuple[int, int]
    offset: int

    @property
    def length(self) -> int:
        """Positions of its domain up to its last word."""
        return self.offset + self.window[1]


def text_spans(example: Example, passage_start: int) -> Iterator[tuple[TextSpan, TextSpan]]:
    """Yield passage and question of each sequence, given the position of a passage's first word in its domain."""
    for texts, length, window in zip(example.sequences, example.lengths, example.windows, strict=True):
        yield TextSpan((example.passage,), window, passage_start), TextSpan(texts, (0, length), 0)


@dataclass(frozen=True)
class SubwordAlignment:
    """Subwords of the texts whose words a reader reads; ``rows`` has their row for each row of the words."""

    words: WordTokens
    tokens: Tokens
    rows: np.ndarray
    layout: SpecialLayout

    @classmethod
    def between(cls, words: WordTokens, tokens: Tokens, layout: SpecialLayout) -> "SubwordAlignment":
        """Align words with the subwords of the same texts."""
        rows = np.full(len(words.offsets) - 1, -1)
        for text_id, row in words.rows.items():
            rows[row] = tokens.rows[text_id]
        return cls(words, tokens, rows, layout)

    def encode(self, span: TextSpan) -> np.ndarray:
        """Return the subwords of a passage or question that is read alone, int64 [2, M].

        The first row are ids, the second the position in the domain of the word that each belongs to, if any.
        """
        (first, count), words_before = span.window, 0
        no_word = np.full(len(self.layout.prefix), OF_NO_WORD), np.full(len(self.layout.suffix), OF_NO_WORD)
        ids, words = [np.array(self.layout.prefix, np.int64)], [no_word[0]]
        for row in span.texts:
            # Keep the subwords of the words in the window, which counts over all texts.
            row_slice = self.tokens.slice(int(self.rows[row]))
            word_index = self.tokens.word_index[row_slice].astype(np.int64)
            inside = (word_index >= first - words_before) & (word_index < first + count - words_before)
            ids.append(self.tokens.input_ids[row_slice][inside])
            words.append(word_index[inside] + words_before - first + span.offset)
            words_before += self.words.length(row)
        ids.append(np.array(self.layout.suffix, np.int64))
        return np.stack([np.concatenate(ids), np.concatenate([*words, no_word[1]])])


def pad_subwords(encoded: Sequence[np.ndarray], pad_id: int) -> tuple[np.ndarray, np.ndarray]:
    """Pad S results of `SubwordAlignment.encode` to two arrays, ids and words [S, M]."""
    return pad_rows([ids for ids, _ in encoded], pad_id), pad_rows([words for _, words in encoded], PADDING)
