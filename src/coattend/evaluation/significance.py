"""Significance tests for two readers on the same questions."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from coattend.evaluation.intervals import FEWEST_SEEDS, LEVEL, Grouping, Interval, SeedVariance

SUBSETS = 10_000
FEWEST_GROUPS = 6
"""Below, no outcome has a p value below 5 %: even if one reader is better in all five groups it is 2 / 2^5."""

_ROUNDING = 1e-9  # Means that differ by less are equal: they count on both sides.
_CELLS = 4_000_000  # Subsets are drawn in blocks of so many numbers, so that memory does not grow with their count.
_HALVINGS = 40  # Enough for a p value to twelve digits.


@dataclass(frozen=True)
class Difference(Interval):
    """Difference of two readers, first minus second.

    The p value is two-sided: how likely a difference this far from zero is where there is none. It is None with a
    single group. The ends are None with fewer than `FEWEST_GROUPS`, and where all groups have the same difference:
    what does not vary leaves nothing to tell from how far another sample may lie.
    """

    p: float | None


def covers_seeds(first: int, second: int) -> bool:
    """Return True if so many seeds of two readers tell how they would compare with other seeds."""
    return min(first, second) >= FEWEST_SEEDS


def mcnemar(first: np.ndarray, second: np.ndarray) -> float:
    """Exact McNemar test of two readers, each trained once.

    Only questions that one reader gets right and the other wrong count; where the readers are equally good, each of
    the two is the right one with probability 1/2. Questions are taken as independent, which those about one passage
    are not: `paired_test` does without that. Readers are right or not on the same questions [questions], bool.
    """
    from scipy.stats import binomtest

    only_first, only_second = int(np.sum(first & ~second)), int(np.sum(second & ~first))
    count = only_first + only_second
    return float(binomtest(only_first, count).pvalue) if count else 1.0


def mcnemar_where_independent(first: np.ndarray, second: np.ndarray, groups: np.ndarray) -> float | None:
    """`mcnemar` where every question is a group of its own; None where some hang together, as it would be too small."""
    return mcnemar(first, second) if len(np.unique(groups)) == len(groups) else None


def paired_test(
    first: np.ndarray, second: np.ndarray, groups: np.ndarray, *, subsets: int = SUBSETS, seed: int = 0
) -> Difference:
    """Difference of the means of two readers [seeds, questions]; see `paired_tests`."""
    return paired_tests([(first, second)], groups, subsets=subsets, seed=seed)[0]


def paired_tests(
    pairs: Sequence[tuple[np.ndarray, np.ndarray]],
    groups: np.ndarray,
    *,
    weights: np.ndarray | None = None,
    subsets: int = SUBSETS,
    seed: int = 0,
) -> list[Difference]:
    """Differences of pairs of readers' means, with a sign-flip test over groups of questions, and over seeds.

    Readers have numbers [seeds, questions]; groups are any integers, and means are weighted [questions]. If two readers
    are equally good, each group's difference might as well have the other sign. Flipping the signs of a subset of the
    groups makes the whole difference as large as it is where the subset's own mean is on the other side of zero, so the
    means of all subsets give both the p value and, as the quantiles of these means, the interval that belongs to it
    (Hartigan 1969): zero lies outside exactly where p is below 5 %. Subsets are all that there are, or else so many
    that are drawn; the test is exact for any number of groups. With one question in each it is McNemar's.

    Where both readers have several seeds, Student's intervals over the seeds of each are added (as in
    `coattend.evaluation.intervals`); else the difference is that of these trials alone.
    """
    if not pairs:
        return []
    grouping = Grouping(groups, weights)
    sizes, first_sums, second_sums = grouping.sizes, *([grouping.sums(pair[side]) for pair in pairs] for side in (0, 1))
    by_group = np.stack([a.mean(0) - b.mean(0) for a, b in zip(first_sums, second_sums, strict=True)])
    if len(sizes) < 2:
        return [Difference(float(sums.sum() / sizes.sum()), None, None, None) for sums in by_group]
    differences = []
    block = max(1, _CELLS // subsets)
    for start in range(0, len(pairs), block):
        rows = range(start, min(start + block, len(pairs)))
        for row, means in zip(rows, _subset_means(by_group[rows.start : rows.stop], sizes, subsets, seed), strict=True):
            sides = (first_sums[row], second_sums[row])
            over_seeds = covers_seeds(*map(len, sides))
            variances = [SeedVariance.of(sums, sizes) for sums in sides] if over_seeds else []
            differences.append(_tested(by_group[row], sizes, means, [v for v in variances if v.variance]))
    return differences


def _tested(sums: np.ndarray, sizes: np.ndarray, means: np.ndarray, seeds: Sequence[SeedVariance]) -> Difference:
    """Test a difference by the means of subsets of its groups, sorted, and by what other seeds add."""
    mean = float(sums.sum() / sizes.sum())
    each = sums / sizes
    low, high = (mean + side * _reach(side, mean, means, seeds, 1 - LEVEL) for side in (-1, 1))
    if not np.isfinite(high - low) or np.ptp(each) <= _ROUNDING:
        return Difference(mean, None, None, _p_value(mean, means, seeds))
    return Difference(mean, low, high, _p_value(mean, means, seeds))


def _reach(side: int, mean: float, means: np.ndarray, seeds: Sequence[SeedVariance], alpha: float) -> float:
    """The distance from the mean to the lower (-1) or upper (1) end at a level of 1 - alpha; infinite if there is none.

    Below an end lie so many means of subsets that, with the whole as one more, they make up half of alpha.
    """
    rank = int(alpha / 2 * (len(means) + 1) + _ROUNDING)
    if rank == 0:
        return float("inf")
    over_groups = abs(mean - means[rank - 1 if side < 0 else len(means) - rank])
    return float(np.sqrt(over_groups**2 + sum(variance.reach(1 - alpha) ** 2 for variance in seeds)))


def _p_value(mean: float, means: np.ndarray, seeds: Sequence[SeedVariance]) -> float:
    """The smallest alpha at which zero lies outside."""
    # The whole is one more subset, so that p is never 0.
    tail = 1 + min(np.sum(means <= 0), np.sum(means >= 0))
    p = min(1.0, 2 * float(tail) / (len(means) + 1))
    if not seeds or p == 1:
        return p
    side = -1 if mean > 0 else 1
    below, above = p, 1.0
    for _ in range(_HALVINGS):
        middle = (below + above) / 2
        if _reach(side, mean, means, seeds, middle) < abs(mean):
            above = middle
        else:
            below = middle
    return above


def _subset_means(by_group: np.ndarray, sizes: np.ndarray, subsets: int, seed: int) -> np.ndarray:
    """Means of differences [pairs, groups] over subsets of the groups, sorted [pairs, subsets]; the same for all."""
    count = len(sizes)
    if 2**count - 1 <= subsets:
        numbers = np.arange(1, 2**count)
        blocks = [(numbers[:, None] >> np.arange(count) & 1).astype(float)]
    else:
        random, rows = np.random.default_rng(seed), max(1, _CELLS // count)
        drawn = (
            random.integers(2, size=(min(rows, subsets - start), count), dtype=np.int8).astype(float)
            for start in range(0, subsets, rows)
        )
        # The empty subset has no mean: it is the whole without a flip, which counts anyway.
        blocks = [block[block.any(1)] for block in drawn]
    means = np.concatenate([(by_group @ block.T) / (block @ sizes) for block in blocks], axis=1)
    means[np.abs(means) <= _ROUNDING] = 0
    return np.sort(means, axis=1)
