"""Bootstrap intervals of a mean over questions.

Passages are drawn, not questions. Questions about one passage share its text, so a passage that a reader fails to
follow costs all of its questions at once: they are not independent, and an interval that draws them one by one is too
narrow. Trained with several seeds, a reader's seeds are drawn as well, and its interval covers another training, too.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

RESAMPLES = 2_000
LEVEL = 0.95
_CELLS = 4_000_000  # Resamples are drawn in blocks of so many numbers, so that memory does not grow with their count.


@dataclass(frozen=True)
class Interval:
    """A mean and where it may well lie.

    Attributes:
        mean: Over questions and seeds.
        low: Lower end, or None with fewer than two passages: one passage says nothing about others.
        high: Upper end, likewise.
    """

    mean: float
    low: float | None
    high: float | None


def interval(
    values: np.ndarray, passages: np.ndarray, *, resamples: int = RESAMPLES, level: float = LEVEL, seed: int = 0
) -> Interval:
    """Percentile interval of a mean, by drawing passages and seeds with replacement.

    With 0 or 1 for all questions every resample is the same, and a bootstrap would claim to be certain. The interval
    is then the exact binomial one of as many trials as there are passages.

    Args:
        values: One number for each seed and question [seeds, questions].
        passages: The passage of each question, as any integers [questions].
        resamples: How many times to draw.
        level: Share of resamples inside the interval.
        seed: Of the drawing.

    Returns:
        The mean and the interval, in the unit of the values.

    Raises:
        ValueError: If there is no question or no seed.
    """
    if not values.size:
        raise ValueError("an interval needs at least one question and one seed")
    mean = float(values.mean())
    count = len(np.unique(passages))
    if count < 2:
        return Interval(mean, None, None)
    if np.all(values == values.flat[0]) and values.flat[0] in (0.0, 1.0):
        reach = 1 - ((1 - level) / 2) ** (1 / count)
        return Interval(mean, max(mean - reach, 0.0), min(mean + reach, 1.0))
    means = resampled_means([values], passages, resamples=resamples, seed=seed)[0]
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return Interval(mean, float(low), float(high))


def resampled_means(
    readers: list[np.ndarray], passages: np.ndarray, *, resamples: int, seed: int
) -> tuple[np.ndarray, ...]:
    """Means of several readers over the same drawn passages, and over seeds that are drawn for each reader.

    Args:
        readers: Each one's numbers [seeds, questions]; how many seeds may differ.
        passages: The passage of each question [questions].
        resamples: How many times to draw.
        seed: Of the drawing.

    Returns:
        For each reader the mean of every resample [resamples].
    """
    _, cluster = np.unique(passages, return_inverse=True)
    sizes = np.bincount(cluster).astype(float)
    sums = [np.stack([np.bincount(cluster, row, len(sizes)) for row in values]) for values in readers]
    random = np.random.default_rng(seed)
    means: list[list[np.ndarray]] = [[] for _ in readers]
    for drawn in _draws(random, resamples, len(sizes)):
        questions = drawn @ sizes
        for reader, total in enumerate(sums):
            of_seed = drawn @ total.T / questions[:, None]
            means[reader].append((of_seed * _counts(random, len(drawn), len(total))).sum(1) / len(total))
    return tuple(np.concatenate(blocks) for blocks in means)


def _draws(random: np.random.Generator, resamples: int, size: int) -> Iterator[np.ndarray]:
    block = max(1, _CELLS // size)
    for start in range(0, resamples, block):
        yield _counts(random, min(block, resamples - start), size)


def _counts(random: np.random.Generator, draws: int, size: int) -> np.ndarray:
    """How often each of ``size`` things comes up in ``size`` draws with replacement [draws, size]."""
    if size == 1:
        return np.ones((draws, 1))
    drawn = random.integers(size, size=(draws, size)) + size * np.arange(draws)[:, None]
    return np.bincount(drawn.ravel(), minlength=draws * size).reshape(draws, size).astype(float)
