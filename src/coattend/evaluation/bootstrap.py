"""Bootstrap intervals of a mean over questions.

Passages are drawn, not questions. Questions about one passage share its text, so a passage that a reader fails to
follow costs all of its questions at once: they are not independent, and an interval that draws them one by one is too
narrow. Trained with several seeds, a reader's seeds are drawn as well, and its interval covers another training, too.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from coattend.evaluation.records import Estimate

RESAMPLES = 2_000
LEVEL = 0.95
_CELLS = 4_000_000  # Resamples are drawn in blocks of so many numbers, so that memory does not grow with their count.


@dataclass(frozen=True)
class Interval:
    """A mean over questions and seeds, and where it may well lie."""

    mean: float
    low: float | None  # The ends are None with fewer than two passages: one says nothing about others.
    high: float | None

    def percent(self) -> Estimate:
        """Return the mean and the ends as percentages."""
        low, high = (None if end is None else 100 * end for end in (self.low, self.high))
        return {"mean": 100 * self.mean, "low": low, "high": high}


def interval(
    values: np.ndarray, passages: np.ndarray, *, resamples: int = RESAMPLES, level: float = LEVEL, seed: int = 0
) -> Interval:
    """Percentile interval of the mean of ``values`` [seeds, questions]; see `intervals`."""
    return intervals([values], passages, resamples=resamples, level=level, seed=seed)[0]


def intervals(
    several: Sequence[np.ndarray],
    passages: np.ndarray,
    *,
    resamples: int = RESAMPLES,
    level: float = LEVEL,
    seed: int = 0,
) -> list[Interval]:
    """Percentile intervals of several means over the same questions, by drawing passages and seeds with replacement.

    Each mean has one number for each seed and question [seeds, questions]; passages are any integers [questions].
    Drawing takes most of the time: means with as many seeds share what is drawn. With 0 or 1 for all questions every
    resample is the same, and a bootstrap would claim to be certain. The interval is then the exact binomial one of as
    many trials as there are passages.

    Raises:
        ValueError: If there is no question, or one has no seed.
    """
    if not all(values.size for values in several):
        raise ValueError("an interval needs at least one question and one seed")
    count = len(np.unique(passages))
    # Constant values have an exact interval, and one passage gives none; the others are replaced below.
    estimates = [Interval(float(values.mean()), *_certain_ends(values, count, level)) for values in several]
    uncertain = [
        index
        for index, values in enumerate(several)
        if count > 1 and not (values.flat[0] in (0.0, 1.0) and np.all(values == values.flat[0]))
    ]
    # Means with the same number of seeds share their resamples.
    for seeds in {len(several[index]) for index in uncertain}:
        alike = [index for index in uncertain if len(several[index]) == seeds]
        together = np.stack([several[index] for index in alike])
        (means,) = resampled_means([together], passages, resamples=resamples, seed=seed)
        ends = np.quantile(means, [(1 - level) / 2, (1 + level) / 2], axis=-1).tolist()
        for index, low, high in zip(alike, *ends, strict=True):
            estimates[index] = Interval(estimates[index].mean, low, high)
    return estimates


def _certain_ends(values: np.ndarray, count: int, level: float) -> tuple[float, float] | tuple[None, None]:
    """The exact binomial interval of all 0 or all 1 on so many passages; none on one passage."""
    if count < 2:
        return None, None
    # Clopper and Pearson's interval: without a success among n its upper end is 1 - (alpha / 2)^(1 / n).
    mean, reach = float(values.mean()), 1 - ((1 - level) / 2) ** (1 / count)
    return max(mean - reach, 0.0), min(mean + reach, 1.0)


def resampled_means(
    readers: Sequence[np.ndarray], passages: np.ndarray, *, resamples: int, seed: int
) -> tuple[np.ndarray, ...]:
    """Means [..., resamples] of several readers over the same drawn passages, and over seeds drawn for each reader.

    Readers have numbers [seeds, questions] and may differ in seeds. Several numbers of a reader stand in front,
    [..., seeds, questions], and have the same seeds drawn.
    """
    # Sums over each passage suffice: a resample weights them by how often it draws the passage.
    _, cluster = np.unique(passages, return_inverse=True)
    sizes = np.bincount(cluster).astype(float)
    sums = [np.apply_along_axis(lambda row: np.bincount(cluster, row, len(sizes)), -1, values) for values in readers]
    random = np.random.default_rng(seed)
    means: list[list[np.ndarray]] = [[] for _ in readers]
    block = max(1, _CELLS // len(sizes))
    for start in range(0, resamples, block):
        counts = _counts(random, min(block, resamples - start), len(sizes))
        # Passages differ in size, so each resample divides by a number of questions of its own.
        questions = counts @ sizes
        for reader, total in enumerate(sums):
            *_, seeds, count = total.shape
            # One product of two matrices takes a sixth of the time that a stack of products takes.
            seed_means = (total.reshape(-1, count) @ counts.T).reshape(*total.shape[:-1], -1) / questions
            # Each reader draws its own seeds with replacement, and their counts weight the means.
            means[reader].append((seed_means * _counts(random, len(counts), seeds).T).sum(-2) / seeds)
    return tuple(np.concatenate(blocks, -1) for blocks in means)


def _counts(random: np.random.Generator, draws: int, size: int) -> np.ndarray:
    """Draw ``size`` times with replacement from ``size`` indices, and count each index [draws, size]."""
    # A single index can only be drawn as it is, which costs no random number.
    if size == 1:
        return np.ones((draws, 1))
    # Each draw has a range of numbers of its own, so that one `bincount` counts all of them.
    indices = random.integers(size, size=(draws, size)) + size * np.arange(draws)[:, None]
    return np.bincount(indices.ravel(), minlength=draws * size).reshape(draws, size).astype(float)
