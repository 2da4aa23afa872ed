"""Spans of many texts in flat arrays, and the alignment of subwords with words by their offsets."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from coattend.text.tagset import ERR

NO_WORD = -1


class Spans(NamedTuple):
    """Words or subwords of T texts, one text after the other: n spans with exclusive ends, all int32 [n].

    Attributes:
        offsets: Text t's spans lie at ``offsets[t]:offsets[t + 1]``, int32 [T + 1].
    """

    starts: np.ndarray
    ends: np.ndarray
    offsets: np.ndarray

    @property
    def rows(self) -> np.ndarray:
        """The text of each span, int64 [n]."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))


def offsets_of(lengths: Sequence[int]) -> np.ndarray:
    """Return the offsets of consecutive lists, int32 [T + 1]."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)


def word_index(subwords: Spans, words: Spans) -> np.ndarray:
    """Find the word of each subword: the one that it shares most characters with, the first of equals.

    Args:
        subwords: Subwords of T texts, n in all; they may overlap, be empty, or lie between words.
        words: Words of the same texts, in order and not overlapping within a text.

    Returns:
        Index of the word within its text, int32 [n]; -1 if a subword shares no character with a word.
    """
    if not len(words.starts) or not len(subwords.starts):
        return np.full(len(subwords.starts), NO_WORD, np.int32)
    # All texts on one line, so far apart that no span of one reaches into the next.
    width = np.int64(max(subwords.ends.max(), words.ends.max())) + 1
    starts, ends = subwords.starts + subwords.rows * width, subwords.ends + subwords.rows * width
    word_starts, word_ends = words.starts + words.rows * width, words.ends + words.rows * width
    first = np.searchsorted(word_ends, starts, side="right")
    last = np.searchsorted(word_starts, ends, side="left") - 1
    in_word = (first <= last) & (starts < ends)
    index = np.where(in_word, first, NO_WORD)
    # Only subwords that touch several words need a comparison.
    for subword in np.flatnonzero(in_word & (first < last)):
        touched = slice(first[subword], last[subword] + 1)
        overlap = np.minimum(word_ends[touched], ends[subword]) - np.maximum(word_starts[touched], starts[subword])
        index[subword] += overlap.argmax()
    return np.where(in_word, index - words.offsets[subwords.rows], NO_WORD).astype(np.int32)


def subword_tags(index: np.ndarray, subwords: Spans, words: Spans, tag_ids: np.ndarray) -> np.ndarray:
    """Return the tag of each subword's word in the result of `word_index`, int8 [n]; ERR if it has none."""
    tags = np.full(len(index), ERR, np.int8)
    in_word = index != NO_WORD
    tags[in_word] = tag_ids[(words.offsets[subwords.rows] + index)[in_word]]
    return tags
