"""Batches of whole questions of similar length, under a budget of tokens."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from coattend.batches.examples import Example

_CHUNK = 1 << 16
"""Questions that are grouped by shape at once."""


class LengthBuckets:
    """Batches of whole questions whose sequences are about equally long.

    Questions are sorted by length and cut once into batches under the budget, so that little is padding. Every epoch
    then shuffles which of the equally long questions share a batch, and the order of the batches. The number of batches
    is the same in every epoch, and an epoch's batches depend on the seed and the epoch alone, so that an interrupted
    training continues with the batch at which it stopped.

    Args:
        lengths: Tokens of each question's longest sequence, special tokens included.
        sequences: Number of sequences of each question.
        tokens_per_batch: Maximum of padded tokens in a batch. A larger question makes a batch alone.
        shuffle: False for the same batches in every epoch, longest first.
    """

    def __init__(
        self,
        lengths: npt.ArrayLike,
        sequences: npt.ArrayLike,
        *,
        tokens_per_batch: int,
        seed: int = 0,
        shuffle: bool = True,
    ) -> None:
        self._seed, self._shuffle = seed, shuffle
        self.epoch = 0
        # Only counts decide on the batches; the epochs then permute questions within a group.
        shapes = _group_by_shape(np.asarray(lengths, np.int32), np.asarray(sequences, np.int32))
        self._groups = [rows for _, _, rows in shapes]
        counts = [(length, count, len(rows)) for length, count, rows in shapes]
        self._ends = np.cumsum([0, *_batch_sizes(counts, tokens_per_batch)])

    @classmethod
    def from_examples(
        cls,
        examples: Sequence["Example"],
        length: Callable[["Example"], int],
        *,
        tokens_per_batch: int,
        seed: int = 0,
        shuffle: bool = True,
    ) -> "LengthBuckets":
        """Cut examples into batches; ``length`` returns the tokens of an example's longest sequence."""
        shapes = ((length(example), len(example.sequences)) for example in examples)
        array = np.fromiter(shapes, np.dtype((np.int32, 2)), count=len(examples))
        return cls(array[:, 0], array[:, 1], tokens_per_batch=tokens_per_batch, seed=seed, shuffle=shuffle)

    def set_epoch(self, epoch: int) -> None:
        """Choose the epoch whose batches the next iteration yields."""
        self.epoch = epoch

    def __len__(self) -> int:
        return len(self._ends) - 1

    def __iter__(self) -> Iterator[list[int]]:
        generator = np.random.default_rng((self._seed, self.epoch))
        order = self._order(generator if self._shuffle else None)
        for batch in generator.permutation(len(self)) if self._shuffle else range(len(self)):
            yield order[self._ends[batch] : self._ends[batch + 1]].tolist()

    def _order(self, generator: np.random.Generator | None) -> np.ndarray:
        """Order questions by size, largest first; only those of one shape swap places, so that batches keep theirs."""
        # Groups are sorted largest first, and so are their slices of the order.
        order = np.empty(self._ends[-1], np.uint32)
        keys = None if generator is None else generator.random(len(order))
        end = 0
        for rows in self._groups:
            end += len(rows)
            order[end - len(rows) : end] = rows if keys is None else rows[np.argsort(keys[rows], kind="stable")]
        return order


def _group_by_shape(lengths: np.ndarray, sequences: np.ndarray) -> list[tuple[int, int, np.ndarray]]:
    """Group questions by length and number of sequences, largest first, in four bytes a question."""
    groups: dict[tuple[int, int], list[np.ndarray]] = defaultdict(list)
    for start in range(0, len(lengths), _CHUNK):
        shapes = np.stack([lengths[start : start + _CHUNK], sequences[start : start + _CHUNK]])
        distinct, shape_of_row = np.unique(shapes, axis=1, return_inverse=True)
        for number, (length, count) in enumerate(distinct.T.tolist()):
            rows = np.flatnonzero(shape_of_row == number).astype(np.uint32)
            groups[length, count].append(rows + np.uint32(start))
    return [(*shape, np.concatenate(groups.pop(shape))) for shape in sorted(groups, reverse=True)]


def _batch_sizes(shapes: Iterable[tuple[int, int, int]], budget: int) -> list[int]:
    """Fill batches greedily from the longest questions to the shortest, and count the questions in each.

    The shapes are the length, the sequences and the number of questions of each kind, longest first.
    """
    sizes: list[int] = []
    size = rows = longest = 0
    for length, count, questions in shapes:
        remaining = questions
        while remaining:
            room = (budget // max(longest, length) - rows) // count
            # An empty batch takes at least one question, whatever its size.
            added = min(remaining, max(room, 0 if size else 1))
            size, rows, longest = size + added, rows + added * count, max(longest, length)
            remaining -= added
            if remaining:
                sizes.append(size)
                size = rows = longest = 0
    return [*sizes, size] if size else sizes
