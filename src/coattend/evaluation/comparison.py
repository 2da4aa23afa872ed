"""Compare variants with their baselines: difference, interval, power, and correction for the size of the table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from coattend.evaluation.intervals import LEVEL
from coattend.evaluation.significance import Difference, covers_seeds, mcnemar_where_independent, paired_tests

POWER = 0.8
"""How often a difference that can be resolved is found."""


@dataclass(frozen=True)
class SeedDifference:
    """The difference of two trials with one seed, in percentage points."""

    seed: int
    difference: Difference  # Over groups of questions.
    mcnemar_p: float | None  # None where answers are not just right or wrong, or questions hang together.


@dataclass(frozen=True)
class Comparison:
    """A variant beside its baseline, in percentage points."""

    difference: Difference  # Of the means over seeds.
    over_seeds: bool  # The interval covers other seeds; else it speaks of these alone.
    by_seed: tuple[SeedDifference, ...]  # For each seed that both have.
    resolves: float | None
    """The smallest difference that so many questions show in four of five cases, at a level of 5 %; None where the
    interval does not tell."""


class Pair(NamedTuple):
    """The marks of a variant and of its baseline by seed [questions], from 0 to 1, on the same questions."""

    ours: Mapping[int, np.ndarray]
    theirs: Mapping[int, np.ndarray]
    graded: bool  # Marks may lie between 0 and 1, as F1 does.

    @property
    def over_seeds(self) -> bool:
        """True if there are enough seeds to tell of others."""
        return covers_seeds(len(self.ours), len(self.theirs))

    @property
    def seeds(self) -> list[int]:
        """The seeds that both have."""
        return [seed for seed in self.ours if seed in self.theirs]

    def marks(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return the scores to compare, in percent: all seeds, then each seed alone [seeds, questions]."""
        ours, theirs = (100 * np.stack(list(marks.values())) for marks in (self.ours, self.theirs))
        return [(ours, theirs), *((100 * self.ours[seed][None], 100 * self.theirs[seed][None]) for seed in self.seeds)]


def compare(pairs: Sequence[Pair], question_groups: np.ndarray, weights: np.ndarray | None = None) -> list[Comparison]:
    """Compare variants with their baselines, all on the same questions, by the group and the weight of each
    [questions]."""
    # One call for all rows of all pairs, since they share the subsets of groups.
    marks = [marks for pair in pairs for marks in pair.marks()]
    differences = iter(paired_tests(marks, question_groups, weights=weights))
    comparisons = []
    for pair in pairs:
        # `Pair.marks` has the overall comparison first, then one for each shared seed.
        overall = next(differences)
        by_seed = tuple(
            SeedDifference(
                seed,
                next(differences),
                None
                if pair.graded
                else mcnemar_where_independent(pair.ours[seed] > 0, pair.theirs[seed] > 0, question_groups),
            )
            for seed in pair.seeds
        )
        comparisons.append(Comparison(overall, pair.over_seeds, by_seed, _resolved(overall)))
    return comparisons


def _resolved(difference: Difference) -> float | None:
    from scipy.stats import norm

    # An interval without a width, such as that of identical readers, resolves nothing.
    if difference.low is None or difference.high is None or difference.high <= difference.low:
        return None
    # The interval's width gives the standard error; level and power say how many of these it takes.
    reach = norm.ppf((1 + LEVEL) / 2)
    resolved = float((difference.high - difference.low) / (2 * reach) * (reach + norm.ppf(POWER)))
    # No two readers are further apart than all points.
    return resolved if resolved <= 100 else None


def expected_resolution(questions: int) -> float | None:
    """The smallest difference in percentage points that so many independent questions resolve; None without any."""
    from scipy.stats import norm

    if not questions:
        return None
    # Trials of one reader with two seeds get about so many questions right of which the other is wrong. Marks differ
    # by 1 on that share: the variance of their difference if neither reader is better.
    differing = 0.3
    return float(100 * (norm.ppf((1 + LEVEL) / 2) + norm.ppf(POWER)) * np.sqrt(differing / questions))


def corrected(p_values: Sequence[float | None]) -> list[float | None]:
    """p values of one table, corrected for how many they are (Holm); None stays None."""
    from statsmodels.stats.multitest import multipletests

    # Rows without a test do not count towards the size of the table.
    known_p = [p for p in p_values if p is not None]
    holm = iter(multipletests(known_p, method="holm")[1].tolist() if known_p else [])
    return [None if p is None else next(holm) for p in p_values]
