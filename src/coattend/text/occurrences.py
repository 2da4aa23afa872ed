"""The words of a passage that are set apart by spaces, and where the candidates for a missing one stand among them."""

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class DistinctWords(NamedTuple):
    """Which words a passage holds, and where.

    Attributes:
        numbers: Number of each distinct word, by their first occurrence from 0.
        starts: First character of each occurrence [n].
        ends: Character after its last [n].
        word: The number of the word that occurs [n].
    """

    numbers: dict[str, int]
    starts: np.ndarray
    ends: np.ndarray
    word: np.ndarray

    def of_tokens(self, starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
        """The number of the word that each token lies in [tokens]; -1 where it lies in none.

        Args:
            starts: First character of each token.
            ends: Character after its last.
        """
        if not len(self.ends):
            return np.full(len(starts), -1)
        place = np.searchsorted(self.ends, starts, side="right")
        near = np.minimum(place, len(self.ends) - 1)
        return np.where((place < len(self.ends)) & (ends > self.starts[near]), self.word[near], -1)


def distinct_words(passage: str) -> DistinctWords:
    """The words of a passage, wherever there are spaces between.

    Args:
        passage: Any text.
    """
    numbers: dict[str, int] = {}
    word = [numbers.setdefault(one, len(numbers)) for one in passage.split()]
    characters = np.frombuffer(passage.encode("utf-32-le", "surrogatepass"), np.uint32)
    spaces = [ord(one) for one in set(passage) if one.isspace()]
    edges = np.flatnonzero(np.diff(~np.isin(characters, spaces), prepend=False, append=False))
    return DistinctWords(numbers, edges[::2], edges[1::2], np.array(word, np.int64))


def occurrences(passage: str, candidates: Sequence[str]) -> list[tuple[int, ...]]:
    """The places of each candidate, as numbers of words from 0; none if it does not occur.

    Args:
        passage: As cloze benchmarks publish it: words and punctuation with spaces between.
        candidates: Single words.
    """
    places: dict[str, list[int]] = defaultdict(list)
    for place, word in enumerate(passage.split()):
        places[word].append(place)
    return [tuple(places.get(candidate, ())) for candidate in candidates]
