"""The words of a passage that are set apart by spaces, and where the candidates for a missing one stand among them."""

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

_WORD = re.compile(r"\S+")


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
    found = [(*one.span(), numbers.setdefault(one.group(), len(numbers))) for one in _WORD.finditer(passage)]
    starts, ends, word = np.array(found, np.int64).reshape(-1, 3).T
    return DistinctWords(numbers, starts, ends, word)


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
