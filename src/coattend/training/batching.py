"""Which questions go into a batch together: whole questions of like length, under a budget of tokens."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from coattend.training.examples import Example


class LengthBuckets:
    """Batches of whole questions whose sequences are about equally long.

    Questions are sorted by length and cut once into batches under the budget, so that little is padding. Every epoch
    then shuffles which of the equally long questions meet, and the order of the batches. The number of batches is the
    same in every epoch, and an epoch's batches depend on the seed and the epoch alone, so that an interrupted training
    goes on with the batch at which it stopped.

    Args:
        lengths: Tokens of each question's longest sequence, special tokens included.
        sequences: How many sequences each question has.
        tokens_per_batch: Most padded tokens in a batch. A question that is larger makes a batch alone.
        seed: Seed of the shuffling.
        shuffle: False: the same batches in every epoch, longest first.
    """

    def __init__(
        self,
        lengths: Sequence[int],
        sequences: Sequence[int],
        *,
        tokens_per_batch: int,
        seed: int = 0,
        shuffle: bool = True,
    ) -> None:
        self._lengths = np.asarray(lengths)
        self._sequences = np.asarray(sequences)
        self._seed, self._shuffle = seed, shuffle
        self._epoch = 0
        order = np.lexsort((-self._sequences, -self._lengths))
        sizes = _sizes(self._lengths[order], self._sequences[order], tokens_per_batch)
        self._ends = np.cumsum([0, *sizes])

    @classmethod
    def of(cls, examples: Sequence["Example"], length: Callable[["Example"], int], **how: Any) -> "LengthBuckets":
        """Batches of examples.

        Args:
            examples: The questions.
            length: Tokens of one's longest sequence, special tokens included.
            how: As above, from ``tokens_per_batch`` on.
        """
        shapes = ((length(one), len(one.sequences)) for one in examples)
        both = np.fromiter(shapes, np.dtype((np.int32, 2)), count=len(examples))
        return cls(both[:, 0], both[:, 1], **how)

    @property
    def epoch(self) -> int:
        """The epoch that the next iteration draws."""
        return self._epoch

    def set_epoch(self, epoch: int) -> None:
        """Choose the epoch that the next iteration draws."""
        self._epoch = epoch

    def __len__(self) -> int:
        return len(self._ends) - 1

    def __iter__(self) -> Iterator[list[int]]:
        if not self._shuffle:
            order = np.lexsort((-self._sequences, -self._lengths))
            yield from (self._batch(order, index) for index in range(len(self)))
            return
        chance = np.random.default_rng((self._seed, self._epoch))
        # Ties are broken by chance only among questions of one shape: whoever swaps places, every batch keeps its size.
        order = np.lexsort((chance.random(len(self._lengths)), -self._sequences, -self._lengths))
        for index in chance.permutation(len(self)):
            yield self._batch(order, index)

    def _batch(self, order: np.ndarray, index: int) -> list[int]:
        return order[self._ends[index] : self._ends[index + 1]].tolist()


def _sizes(lengths: np.ndarray, sequences: np.ndarray, budget: int) -> list[int]:
    """Questions a batch, drawn greedily from the longest to the shortest."""
    sizes: list[int] = []
    size = rows = longest = 0
    for length, count in zip(lengths, sequences, strict=True):
        if size and max(longest, length) * (rows + count) > budget:
            sizes.append(size)
            size = rows = longest = 0
        size, rows, longest = size + 1, rows + count, max(longest, length)
    return [*sizes, size] if size else sizes
