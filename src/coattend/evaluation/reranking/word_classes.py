"""Classes of words, learned from the words beside them by the exchange algorithm.

Source: Och 1999, "An Efficient Method for Determining Bilingual Word Classes", whose program mkcls finds classes of one
language too, and Kneser and Ney 1993, "Improved Clustering Techniques for Class-Based Statistical Language Modelling".
Each word goes to its best class; worse ones are never tried on the way.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np

BOUNDARY, RARE = 0, 1
"""Numbers of what stands between sentences and of all rare words. Both keep classes of their own, of these numbers."""
_FIXED = 2
_LEAST_GAIN = 1e-6  # Smaller gains of log likelihood are rounding errors.


def learn_word_classes(
    sentences: Sequence[Sequence[str]], *, classes: int, at_least: int, passes: int
) -> dict[str, int]:
    """Divide words into classes with which a bigram model of classes makes the sentences likely.

    Args:
        sentences: The words of each sentence.
        classes: Number of classes; fewer words than that have a class each.
        at_least: Rarer words have no class.
        passes: How often each word is moved at most; less often where none moves any more.

    Returns:
        The class of each word, from 0.
    """
    counts = Counter(word for words in sentences for word in words)
    frequent = sorted(
        (word for word, count in counts.items() if count >= at_least), key=lambda word: (-counts[word], word)
    )
    numbers = {word: number for number, word in enumerate(frequent, _FIXED)}
    stream = [BOUNDARY]
    for words in sentences:
        stream += [numbers.get(word, RARE) for word in words]
        stream.append(BOUNDARY)
    partition = _Partition(np.array(stream), len(numbers) + _FIXED, classes)
    for _ in range(passes):
        if not sum([partition.move(word) for word in numbers.values()]):
            break
    return {word: int(partition.class_of[number]) - _FIXED for word, number in numbers.items()}


class _Partition:
    """Classes of words, and how often one class follows another in a stream of words.

    With N(a, b) for how often a word of class b follows one of class a, the log likelihood of the stream is, but for a
    constant, the sum of N(a, b) ln N(a, b) less those of the rows' and of the columns' sums (Och 1999, eq. 5).
    """

    def __init__(self, stream: np.ndarray, words: int, classes: int) -> None:
        self._size = classes + _FIXED
        # The most frequent words begin in different classes.
        self.class_of = np.concatenate([[BOUNDARY, RARE], _FIXED + np.arange(words - _FIXED) % classes])
        pairs, counts = np.unique(stream[:-1] * words + stream[1:], return_counts=True)
        left, right = pairs // words, pairs % words
        repeated, others = left == right, left != right
        self._repeats = np.bincount(left[repeated], counts[repeated], words)
        self._followers = _Neighbours(left[others], right[others], counts[others], words)
        self._predecessors = _Neighbours(right[others], left[others], counts[others], words)
        self._counts = np.zeros((self._size, self._size))
        np.add.at(self._counts, (self.class_of[left], self.class_of[right]), counts)
        self._as_left, self._as_right = self._counts.sum(1), self._counts.sum(0)

    def move(self, word: int) -> bool:
        """Move a word to the class with the best likelihood, of several the first; False if it stays."""
        after = self._followers.by_class(word, self.class_of, self._size)
        before = self._predecessors.by_class(word, self.class_of, self._size)
        repeats, origin = self._repeats[word], self.class_of[word]
        self._add(origin, -after, -before, -repeats)
        gains = self._gains(after, before, repeats)
        gains[:_FIXED] = -np.inf
        best = int(np.argmax(gains))
        target = best if gains[best] > gains[origin] + _LEAST_GAIN else origin
        self._add(target, after, before, repeats)
        self.class_of[word] = target
        return bool(target != origin)

    def _gains(self, after: np.ndarray, before: np.ndarray, repeats: float) -> np.ndarray:
        """Log likelihood that a word adds in each class, by the classes behind and before it [classes]."""
        # Only the counts with its neighbours' classes change.
        behind, ahead = np.flatnonzero(after), np.flatnonzero(before)
        gains: np.ndarray = _growth(self._counts[:, behind], after[behind]).sum(1)
        gains += _growth(self._counts[ahead], before[ahead, None]).sum(0)
        # A class that follows itself changes once, by all of it, and not by each side apart.
        itself = np.diagonal(self._counts)
        gains += _growth(itself, after + before + repeats) - _growth(itself, after) - _growth(itself, before)
        gains -= _growth(self._as_left, after.sum() + repeats) + _growth(self._as_right, before.sum() + repeats)
        return gains

    def _add(self, target: int, after: np.ndarray, before: np.ndarray, repeats: float) -> None:
        self._counts[target] += after
        self._counts[:, target] += before
        self._counts[target, target] += repeats
        # The sums of its neighbours' classes stay, whichever class the word goes to.
        self._as_left[target] += after.sum() + repeats
        self._as_right[target] += before.sum() + repeats


class _Neighbours:
    """The words on one side of each word, and how often they stand there."""

    def __init__(self, words: np.ndarray, neighbours: np.ndarray, counts: np.ndarray, size: int) -> None:
        order = np.argsort(words, kind="stable")
        self._neighbours, self._counts = neighbours[order], counts[order]
        self._starts = np.searchsorted(words[order], np.arange(size + 1))

    def by_class(self, word: int, class_of: np.ndarray, classes: int) -> np.ndarray:
        """Count a word's neighbours by their classes [classes]."""
        part = slice(self._starts[word], self._starts[word + 1])
        counts: np.ndarray = np.bincount(class_of[self._neighbours[part]], self._counts[part], classes)
        return counts


def _growth(counts: np.ndarray, added: np.ndarray | float) -> np.ndarray:
    """The growth of n ln n as counts grow."""
    difference: np.ndarray = _times_log(counts + added) - _times_log(counts)
    return difference


def _times_log(counts: np.ndarray) -> np.ndarray:
    product: np.ndarray = counts * np.log(np.maximum(counts, 1))
    return product
