"""Batches of whole questions, or of passages with their questions, of similar length, under a budget of tokens; and
batches by lot."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from coattend.batches.examples import Example

SEGMENT_MULTIPLE = 8
"""The tokens of a passage's segments are counted in steps of this, so that few different shapes occur."""

_CHUNK = 1 << 16
"""Questions that are grouped by shape at once."""

_NEARBY = 1 << 17
"""Questions among which those about one passage are looked for: more than RACE has."""


class LengthBuckets:
    """Batches of whole questions whose sequences are about equally long.

    Questions are sorted by length and cut once into batches under the budget, so that little is padding. Every epoch
    then shuffles which of the equally long questions share a batch, and the order of the batches. The number of batches
    is the same in every epoch, and an epoch's batches depend on the seed and the epoch alone, so that an interrupted
    training continues with the batch at which it stopped.

    Where a passage is read once, passages with all of their questions take the place of questions: `from_passages`.

    Args:
        shapes: The shapes of all questions in pieces [K, 3]: the tokens of the longest sequence, special tokens
            included; the tokens that stand beside each sequence and are padded by themselves; and the number of
            sequences.
        members: The rows of ``shapes`` that a batch yields several indices for: all indices in order, and where those
            of each row end; None: each row is an index.
        tokens_per_batch: Maximum of padded tokens in a batch. A larger question makes a batch alone.
        shuffle: False for the same batches in every epoch, longest first.
    """

    def __init__(
        self,
        shapes: Iterable[np.ndarray],
        *,
        tokens_per_batch: int,
        members: tuple[np.ndarray, np.ndarray] | None = None,
        seed: int = 0,
        shuffle: bool = True,
    ) -> None:
        self._seed, self._shuffle, self._members = seed, shuffle, members
        self.epoch = 0
        # Only counts decide on the batches; the epochs then permute questions within a group.
        groups = _group_by_shape(shapes)
        self._groups = [rows for *_, rows in groups]
        counts = [(*shape, len(rows)) for *shape, rows in groups]
        self._ends = np.cumsum([0, *_batch_sizes(counts, tokens_per_batch)])

    @classmethod
    def from_lengths(
        cls, lengths: npt.ArrayLike, sequences: npt.ArrayLike, *, segments: npt.ArrayLike = 0, **options: Any
    ) -> "LengthBuckets":
        """Cut questions into batches by their columns of shapes."""
        columns = np.broadcast_arrays(lengths, segments, sequences)
        starts = range(0, len(columns[0]), _CHUNK)
        return cls((np.stack([column[start : start + _CHUNK] for column in columns], 1) for start in starts), **options)

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
        shapes = ((length(example), 0, len(example.sequences)) for example in examples)
        counts = (min(_CHUNK, len(examples) - start) for start in range(0, len(examples), _CHUNK))
        pieces = (np.fromiter(islice(shapes, count), np.dtype((np.int32, 3)), count) for count in counts)
        return cls(pieces, tokens_per_batch=tokens_per_batch, seed=seed, shuffle=shuffle)

    @classmethod
    def from_passages(
        cls,
        examples: Sequence["Example"],
        room: Callable[["Example"], tuple[int, int, int]],
        *,
        tokens_per_batch: int,
        seed: int = 0,
        shuffle: bool = True,
    ) -> "LengthBuckets":
        """Cut passages with all of their questions into batches.

        A passage that is asked about twice, more than 131,072 questions apart, is read twice.

        ``room`` returns the number of an example's windows, the tokens of the longest one, and those of the segments
        that ask about each.
        """
        asked = ((example.passage, *room(example)) for example in examples)
        shapes: list[np.ndarray] = []
        orders: list[np.ndarray] = [np.zeros(0, np.uint32)]
        ends: list[np.ndarray] = [np.zeros(0, np.uint32)]
        before = 0
        for piece in _between_passages(asked, len(examples)):
            # Questions about the same windows stand together; a longer question may leave a shorter window.
            order = np.lexsort(piece[:, 2::-1].T)
            ordered = piece[order]
            new = np.any(ordered[1:, :3] != ordered[:-1, :3], axis=1)
            starts = np.flatnonzero(np.concatenate([[True], new]))
            segments = -(-np.add.reduceat(ordered[:, 3], starts) // SEGMENT_MULTIPLE) * SEGMENT_MULTIPLE
            shapes.append(np.stack([ordered[starts, 2], segments, ordered[starts, 1]], 1).astype(np.int32))
            orders.append((before + order).astype(np.uint32))
            ends.append((before + np.append(starts[1:], len(order))).astype(np.uint32))
            before += len(order)
        return cls(
            shapes,
            members=(np.concatenate(orders), np.concatenate(ends)),
            tokens_per_batch=tokens_per_batch,
            seed=seed,
            shuffle=shuffle,
        )

    def set_epoch(self, epoch: int) -> None:
        """Choose the epoch whose batches the next iteration yields."""
        self.epoch = epoch

    def __len__(self) -> int:
        return len(self._ends) - 1

    def __iter__(self) -> Iterator[list[int]]:
        generator = np.random.default_rng((self._seed, self.epoch))
        order = self._order(generator if self._shuffle else None)
        for batch in generator.permutation(len(self)) if self._shuffle else range(len(self)):
            rows = order[self._ends[batch] : self._ends[batch + 1]]
            yield rows.tolist() if self._members is None else list(self._questions_of(rows, *self._members))

    @staticmethod
    def _questions_of(rows: np.ndarray, order: np.ndarray, ends: np.ndarray) -> Iterator[int]:
        for row in rows.tolist():
            yield from order[ends[row - 1] if row else 0 : ends[row]].tolist()

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


class RandomBatches:
    """Batches of so many questions by lot, others in every epoch, which depend on the seed and the epoch alone; the
    last one has the rest."""

    def __init__(self, questions: int, *, questions_per_batch: int, seed: int = 0) -> None:
        self._questions, self._size, self._seed = questions, questions_per_batch, seed
        self.epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Choose the epoch whose batches the next iteration yields."""
        self.epoch = epoch

    def __len__(self) -> int:
        return math.ceil(self._questions / self._size)

    def __iter__(self) -> Iterator[list[int]]:
        order = np.random.default_rng((self._seed, self.epoch)).permutation(self._questions)
        for start in range(0, self._questions, self._size):
            yield order[start : start + self._size].tolist()


def _between_passages(asked: Iterator[tuple[int, int, int, int]], count: int) -> Iterator[np.ndarray]:
    """Cut so many questions into pieces [K, 4] where another passage begins."""
    rest = np.zeros((0, 4), np.int32)
    for start in range(0, count, _NEARBY):
        piece = np.concatenate([rest, np.fromiter(islice(asked, _NEARBY), np.dtype((np.int32, 4)))])
        before_last = np.flatnonzero(piece[:, 0] != piece[-1, 0])
        end = len(piece) if start + _NEARBY >= count else np.max(before_last, initial=-1) + 1
        if end:
            yield piece[:end]
        rest = piece[end:]


def _group_by_shape(pieces: Iterable[np.ndarray]) -> list[tuple[int, int, int, np.ndarray]]:
    """Group questions by length, tokens beside it and number of sequences, largest first, in four bytes a question."""
    groups: dict[tuple[int, int, int], list[np.ndarray]] = defaultdict(list)
    start = 0
    for shapes in pieces:
        distinct, shape_of_row = np.unique(shapes, axis=0, return_inverse=True)
        for number, (length, beside, count) in enumerate(distinct.tolist()):
            rows = np.flatnonzero(shape_of_row == number).astype(np.uint32)
            groups[length, beside, count].append(rows + np.uint32(start))
        start += len(shapes)
    return [(*shape, np.concatenate(groups.pop(shape))) for shape in sorted(groups, reverse=True)]


def _batch_sizes(shapes: Iterable[Sequence[int]], budget: int) -> list[int]:
    """Fill batches greedily from the longest questions to the shortest, and count the questions in each.

    The shapes are the length, the tokens beside it, the sequences and the number of questions of each kind, longest
    first.
    """
    sizes: list[int] = []
    size = rows = longest = most = 0
    for length, beside, count, questions in shapes:
        remaining = questions
        while remaining:
            room = (budget // (max(longest, length) + max(most, beside)) - rows) // count
            # An empty batch takes at least one question, whatever its size.
            added = min(remaining, max(room, 0 if size else 1))
            if added:
                size, rows = size + added, rows + added * count
                longest, most = max(longest, length), max(most, beside)
            remaining -= added
            if remaining:
                sizes.append(size)
                size = rows = longest = most = 0
    return [*sizes, size] if size else sizes
