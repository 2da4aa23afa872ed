"""Significance tests for two readers on the same questions."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from coattend.evaluation.bootstrap import LEVEL, Interval, resampled_means

RESAMPLES = 10_000
_ROUNDING = 1e-9  # A resample whose means differ by less has no difference: it counts on both sides.


@dataclass(frozen=True)
class Difference(Interval):
    """Difference of two readers, first minus second.

    The p value is two-sided: how likely a difference this far from zero is where there is none; None as the ends are.
    """

    p: float | None


def mcnemar(first: np.ndarray, second: np.ndarray) -> float:
    """Exact McNemar test of two readers, each trained once.

    Only questions that one reader gets right and the other wrong count; where the readers are equally good, each of
    the two is the right one with probability 1/2. Questions are taken as independent, which those about one passage
    are not: `paired_bootstrap` does without that. Readers are right or not on the same questions [questions], bool.
    """
    from scipy.stats import binomtest

    only_first, only_second = int(np.sum(first & ~second)), int(np.sum(second & ~first))
    count = only_first + only_second
    return float(binomtest(only_first, count).pvalue) if count else 1.0


def paired_bootstrap(
    first: np.ndarray, second: np.ndarray, passages: np.ndarray, *, resamples: int = RESAMPLES, seed: int = 0
) -> Difference:
    """Difference of the means of two readers [seeds, questions]; see `paired_bootstraps`."""
    return paired_bootstraps([(first, second)], passages, resamples=resamples, seed=seed)[0]


def paired_bootstraps(
    pairs: Sequence[tuple[np.ndarray, np.ndarray]], passages: np.ndarray, *, resamples: int = RESAMPLES, seed: int = 0
) -> list[Difference]:
    """Differences of pairs of readers' means over the same drawn passages; seeds are drawn for each reader.

    Readers have numbers [seeds, questions]; pairs with as many seeds share what is drawn, which takes most of the time.
    The p value belongs to the interval: it is the smallest level at which zero lies outside, never below
    2 / (resamples + 1).
    """
    estimates = [Difference(float(first.mean() - second.mean()), None, None, None) for first, second in pairs]
    if len(np.unique(passages)) < 2:
        return estimates
    # Pairs with the same numbers of seeds share their resamples.
    for seeds in {(len(first), len(second)) for first, second in pairs}:
        alike = [index for index, (first, second) in enumerate(pairs) if (len(first), len(second)) == seeds]
        sides = [np.stack([pairs[index][side] for index in alike]) for side in (0, 1)]
        better, worse = resampled_means(sides, passages, resamples=resamples, seed=seed)
        for index, differences in zip(alike, better - worse, strict=True):
            low, high = np.quantile(differences, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
            # The observed sample counts as one more resample, so that p is never 0.
            tail = 1 + min(np.sum(differences <= _ROUNDING), np.sum(differences >= -_ROUNDING))
            p = min(1.0, 2 * float(tail) / (resamples + 1))
            estimates[index] = Difference(estimates[index].mean, float(low), float(high), p)
    return estimates
