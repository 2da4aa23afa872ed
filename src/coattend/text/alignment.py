"""Which word a subword lies in, by their offsets in the text."""

import numpy as np

from coattend.text.spans import Spans
from coattend.text.tagset import ERR

NO_WORD = -1


def word_index(subwords: Spans, words: Spans) -> np.ndarray:
    """The word that each subword lies in: the one that it shares most characters with, the first of equals.

    Args:
        subwords: Subwords of T texts, n in all; they may overlap, be empty, or lie between words.
        words: Words of the same texts, in order and not overlapping within a text.

    Returns:
        Place of the word within its text, int32 [n]; -1 where a subword shares no character with a word.
    """
    if not len(words.starts) or not len(subwords.starts):
        return np.full(len(subwords.starts), NO_WORD, np.int32)
    # All texts in one line, so far apart that nothing of one reaches into the next.
    width = np.int64(max(subwords.ends.max(), words.ends.max())) + 1
    starts, ends = subwords.starts + subwords.rows * width, subwords.ends + subwords.rows * width
    word_starts, word_ends = words.starts + words.rows * width, words.ends + words.rows * width
    first = np.searchsorted(word_ends, starts, side="right")
    last = np.searchsorted(word_starts, ends, side="left") - 1
    inside = (first <= last) & (starts < ends)
    found = np.where(inside, first, NO_WORD)
    for place in np.flatnonzero(inside & (first < last)):
        between = slice(first[place], last[place] + 1)
        shared = np.minimum(word_ends[between], ends[place]) - np.maximum(word_starts[between], starts[place])
        found[place] += shared.argmax()
    return np.where(inside, found - words.offsets[subwords.rows], NO_WORD).astype(np.int32)


def tags_of(index: np.ndarray, subwords: Spans, words: Spans, tag_ids: np.ndarray) -> np.ndarray:
    """The tag of the word that each subword lies in.

    Args:
        index: What `word_index` returned, [n].
        subwords: The subwords.
        words: The words.
        tag_ids: Tag of each word, int8.

    Returns:
        Tag ids, int8 [n]; ERR where there is no word.
    """
    tags = np.full(len(index), ERR, np.int8)
    inside = index != NO_WORD
    tags[inside] = tag_ids[(words.offsets[subwords.rows] + index)[inside]]
    return tags
