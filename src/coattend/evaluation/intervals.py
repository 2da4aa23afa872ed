"""Intervals of a mean over questions.

The units are groups of questions, not questions: those about one passage share its text, so a passage that a reader
fails to follow costs all of its questions at once, and an interval that takes them one by one is too narrow. Trained
with several seeds, a reader's interval covers another training, too. Nothing is drawn: a percentile bootstrap misses
the mean of few groups far too often (docs/concepts.md has the measured rates).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from coattend.evaluation.records import Estimate

LEVEL = 0.95
FEWEST_SEEDS = 2
"""From so many seeds on an interval covers other seeds; a single one has no spread."""

_ROUNDING = 1e-12  # Variances below are those of numbers that are equal but for rounding.


@dataclass(frozen=True)
class Interval:
    """A mean over questions and seeds, and where it may well lie."""

    mean: float
    low: float | None  # The ends are None with fewer than two groups: one says nothing about others.
    high: float | None

    def percent(self) -> Estimate:
        """Return the mean and the ends as percentages."""
        low, high = (None if end is None else 100 * end for end in (self.low, self.high))
        return {"mean": 100 * self.mean, "low": low, "high": high}


class Grouping:
    """Sums over the groups of questions, which are any integers [questions]; a question may count with a weight."""

    def __init__(self, groups: np.ndarray, weights: np.ndarray | None = None) -> None:
        self._order = np.argsort(groups, kind="stable")
        _, self._starts = np.unique(groups[self._order], return_index=True)
        self._weights = np.ones(len(groups)) if weights is None else weights
        self.sizes = self.sums(np.ones(len(groups)))  # Questions of each group, by their weights [groups].

    def sums(self, values: np.ndarray) -> np.ndarray:
        """Add up ``values`` [..., questions], by their weights, over each group [..., groups]."""
        return np.add.reduceat((values * self._weights)[..., self._order], self._starts, axis=-1)


class SeedVariance(NamedTuple):
    """Variance of a mean over seeds that another choice of seeds adds, and its degrees of freedom."""

    variance: float
    freedom: int

    @classmethod
    def of(cls, sums: np.ndarray, sizes: np.ndarray) -> "SeedVariance":
        """Estimate it from the sums of each seed over each group [seeds, groups]; a single seed has none.

        Seeds differ on a sample of questions even where they are equally good. That part belongs to the questions, and
        intervals over groups have it already: it is subtracted (two-way clustering; Cameron, Gelbach and Miller 2011).
        """
        seeds, questions = len(sums), sizes.sum()
        if seeds < FEWEST_SEEDS:
            return cls(0.0, 1)
        means = sums.sum(-1) / questions
        # Each group's answers, without the level of its seed and of the group.
        residuals = sums - means[:, None] * sizes
        residuals -= residuals.mean(0)
        by_questions = np.sum(residuals**2) / questions**2 / (seeds - 1)
        return cls(max(float(means.var(ddof=1) - by_questions), 0.0) / seeds, seeds - 1)

    def reach(self, level: float) -> float:
        """Return half the width of Student's interval of the mean over seeds."""
        from scipy.special import stdtrit

        return float(stdtrit(self.freedom, (1 + level) / 2)) * float(np.sqrt(self.variance))


def interval(values: np.ndarray, groups: np.ndarray, *, level: float = LEVEL) -> Interval:
    """Interval of the mean of ``values`` [seeds, questions]; see `intervals`."""
    return intervals([values], groups, level=level)[0]


def intervals(several: Sequence[np.ndarray], groups: np.ndarray, *, level: float = LEVEL) -> list[Interval]:
    """Intervals of several means over the same questions, from 0 to 1, by the group of each question.

    Each mean has one number for each seed and question [seeds, questions]; groups are any integers [questions]. The
    mean has the interval of Clopper and Pearson for as many independent questions as would leave its variance between
    groups (Korn and Graubard 1998), which is wide where groups are few, and right near 0 and 1. With two or more seeds
    it is widened by Student's interval over them.

    Raises:
        ValueError: If there is no question, or one has no seed.
    """
    if not all(values.size for values in several):
        raise ValueError("an interval needs at least one question and one seed")
    grouping = Grouping(groups)
    return [_interval(grouping.sums(values), grouping.sizes, level) for values in several]


def _interval(sums: np.ndarray, sizes: np.ndarray, level: float) -> Interval:
    mean = float(sums.mean(0).sum() / sizes.sum())
    if len(sizes) < 2:
        return Interval(mean, None, None)
    low, high = _ends_over_groups(mean, sums.mean(0), sizes, level)
    reach = SeedVariance.of(sums, sizes).reach(level)
    # Distances that have independent causes add up as squares (Zou and Donner 2008).
    return Interval(
        mean, max(mean - float(np.hypot(mean - low, reach)), 0.0), min(mean + float(np.hypot(high - mean, reach)), 1.0)
    )


def _ends_over_groups(mean: float, sums: np.ndarray, sizes: np.ndarray, level: float) -> tuple[float, float]:
    """The ends of Clopper and Pearson's interval of as many questions as the spread of the groups is worth."""
    from scipy.special import betaincinv, stdtrit

    count, questions = len(sizes), sizes.sum()
    without = (sums.sum() - sums) / (questions - sizes)  # Means without each of the groups: the jackknife.
    variance = (count - 1) / count * float(np.sum((without - without.mean()) ** 2))
    # Where nothing varies, such as with all answers right, a group counts as one question.
    worth = float(count)
    if variance > _ROUNDING:
        # A few large groups among many say little more than these few (Kish 1965).
        freedom = max(questions**2 / float(np.sum(sizes**2)) - 1, 1.0)
        normal, student = (float(stdtrit(df, (1 + level) / 2)) for df in (np.inf, freedom))
        worth = mean * (1 - mean) / variance * (normal / student) ** 2
    right, tail = mean * worth, (1 - level) / 2
    # Rounding must not make a share of right answers that is slightly above 1.
    low = 0.0 if right <= _ROUNDING else float(betaincinv(right, worth - right + 1, tail))
    high = 1.0 if worth - right <= _ROUNDING else float(betaincinv(right + 1, worth - right, 1 - tail))
    return min(low, mean), max(high, mean)
