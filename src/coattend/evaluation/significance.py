"""Whether one reader is better than another on the same questions."""

from dataclasses import dataclass

import numpy as np

from coattend.evaluation.intervals import LEVEL, resampled_means

RESAMPLES = 10_000


@dataclass(frozen=True)
class Difference:
    """How much better the first reader is than the second.

    Attributes:
        mean: First minus second.
        low: Lower end of the interval, or None with fewer than two passages.
        high: Upper end, likewise.
        p: Two-sided: how likely a difference this far from zero is where there is none; likewise.
    """

    mean: float
    low: float | None
    high: float | None
    p: float | None


def mcnemar(first: np.ndarray, second: np.ndarray) -> float:
    """Exact McNemar test of two readers, each trained once.

    Only questions that one reader gets right and the other wrong count; where the readers are equally good, each of
    the two is the right one with probability 1/2. Questions are taken as independent, which those about one passage
    are not: `paired_bootstrap` does without that.

    Args:
        first: Whether the first reader is right [questions], bool.
        second: Whether the second one is, on the same questions [questions], bool.

    Returns:
        The two-sided p value; 1 where the readers never differ.
    """
    only_first, only_second = int(np.sum(first & ~second)), int(np.sum(second & ~first))
    count, fewer = only_first + only_second, min(only_first, only_second)
    chosen = np.arange(fewer)
    log_ways = np.concatenate([[0.0], np.cumsum(np.log(count - chosen) - np.log(chosen + 1))])
    return min(1.0, float(2 * np.exp(np.logaddexp.reduce(log_ways) - count * np.log(2))))


def paired_bootstrap(
    first: np.ndarray, second: np.ndarray, passages: np.ndarray, *, resamples: int = RESAMPLES, seed: int = 0
) -> Difference:
    """Difference of two readers' means over the same drawn passages; seeds are drawn for each reader.

    Args:
        first: Numbers of the first reader [seeds, questions].
        second: Numbers of the second, on the same questions [seeds, questions].
        passages: The passage of each question [questions].
        resamples: How many times to draw.
        seed: Of the drawing.

    Returns:
        The difference, its interval, and the p value that belongs to it: the smallest level at which zero lies
        outside, never below 2 / (resamples + 1).
    """
    mean = float(first.mean() - second.mean())
    if len(np.unique(passages)) < 2:
        return Difference(mean, None, None, None)
    better, worse = resampled_means([first, second], passages, resamples=resamples, seed=seed)
    differences = better - worse
    low, high = np.quantile(differences, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    tail = 1 + min(np.sum(differences <= 0), np.sum(differences >= 0))
    return Difference(mean, float(low), float(high), min(1.0, 2 * float(tail) / (resamples + 1)))
