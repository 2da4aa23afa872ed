"""Which questions go into a batch together: whole questions of like length, under a budget of tokens."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from coattend.training.examples import Example

_AT_ONCE = 1 << 16
"""Questions whose shapes are looked at together."""


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
        self._seed, self._shuffle = seed, shuffle
        self._epoch = 0
        shapes = _by_shape(np.asarray(lengths, np.int32), np.asarray(sequences, np.int32))
        self._alike = [rows for _, _, rows in shapes]
        counts = [(length, count, len(rows)) for length, count, rows in shapes]
        self._ends = np.cumsum([0, *_sizes(counts, tokens_per_batch)])

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
        chance = np.random.default_rng((self._seed, self._epoch))
        order = self._order(chance if self._shuffle else None)
        for number in chance.permutation(len(self)) if self._shuffle else range(len(self)):
            yield order[self._ends[number] : self._ends[number + 1]].tolist()

    def _order(self, chance: np.random.Generator | None) -> np.ndarray:
        """All questions, the largest first; by chance only those of one shape swap places: batches keep their size."""
        order = np.empty(self._ends[-1], np.uint32)
        drawn = None if chance is None else chance.random(len(order))
        end = 0
        for rows in self._alike:
            end += len(rows)
            order[end - len(rows) : end] = rows if drawn is None else rows[np.argsort(drawn[rows], kind="stable")]
        return order


def _by_shape(lengths: np.ndarray, sequences: np.ndarray) -> list[tuple[int, int, np.ndarray]]:
    """Length, sequences and rows of questions of one shape each, the largest first; four bytes a question."""
    parts: dict[tuple[int, int], list[np.ndarray]] = defaultdict(list)
    for first in range(0, len(lengths), _AT_ONCE):
        shapes = np.stack([lengths[first : first + _AT_ONCE], sequences[first : first + _AT_ONCE]])
        found, which = np.unique(shapes, axis=1, return_inverse=True)
        for number, shape in enumerate(found.T.tolist()):
            parts[tuple(shape)].append(np.flatnonzero(which == number).astype(np.uint32) + np.uint32(first))
    return [(*shape, np.concatenate(parts.pop(shape))) for shape in sorted(parts, reverse=True)]


def _sizes(shapes: Iterable[tuple[int, int, int]], budget: int) -> list[int]:
    """Questions a batch, drawn greedily from the longest to the shortest.

    Args:
        shapes: Length, sequences and number of questions of one shape each, longest first.
        budget: Most padded tokens in a batch.
    """
    sizes: list[int] = []
    size = rows = longest = 0
    for length, count, questions in shapes:
        left = questions
        while left:
            room = (budget // max(longest, length) - rows) // count
            added = min(left, max(room, 0 if size else 1))
            size, rows, longest, left = size + added, rows + added * count, max(longest, length), left - added
            if left:
                sizes.append(size)
                size = rows = longest = 0
    return [*sizes, size] if size else sizes
