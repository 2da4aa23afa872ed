"""Paired data of readers that are equally good, and how often intervals and tests are wrong about them.

`python -m tests.evaluation.simulation [RUNS]` prints the tables of docs/concepts.md, by default of 20,000 runs, in some
minutes on a processor with several cores.
"""

import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from coattend.evaluation.intervals import intervals
from coattend.evaluation.significance import paired_tests

GROUPS = (2, 4, 8, 10, 20, 40)
RUNS = 20_000
LAYOUTS = 20  # Divisions of questions into groups that the runs of one world share.


@dataclass(frozen=True)
class World:
    """Two readers that are equally good, and the questions that they are asked."""

    title: str
    first: int = 1  # Seeds of each reader.
    second: int = 1
    unequal: bool = False  # Groups of 1 to 30 questions, most of them small; else one question each.
    graded: bool = False  # Marks between 0 and 1, half of them neither.
    level: float = 0.0  # Log-odds of a right answer.
    hard: float = 0.0  # Standard deviations in log-odds: of groups and questions, which both readers find equally hard,
    apart: float = 0.0  # of groups, which one reader finds harder than the other,
    seeds_apart: float = 0.0  # and of seeds.

    def sizes(self, random: np.random.Generator, groups: int) -> np.ndarray:
        """Draw how many questions each group has [groups]."""
        if not self.unequal:
            return np.ones(groups, dtype=int)
        return np.clip(np.exp(random.normal(1.5, 1, groups)), 1, 30).astype(int)

    def marks(
        self, random: np.random.Generator, sizes: np.ndarray, runs: int, seeds: int, shared: np.ndarray
    ) -> np.ndarray:
        """Draw the marks of one reader [runs, seeds, questions], where questions are as hard as ``shared`` says."""
        own = np.repeat(random.normal(0, self.apart, (runs, len(sizes))), sizes, axis=1)
        of_seed = random.normal(0, self.seeds_apart, (runs, seeds, 1))
        right = 1 / (1 + np.exp(-(shared + own)[:, None] - of_seed))
        marks = (random.random(right.shape) < right).astype(float)
        if not self.graded:
            return marks
        between = np.clip(right + random.normal(0, 0.2, right.shape), 0, 1)
        return np.where(random.random(right.shape) < 0.5, between, marks)

    def shared(self, random: np.random.Generator, sizes: np.ndarray, runs: int) -> np.ndarray:
        """Draw how hard questions are for both readers [runs, questions]."""
        of_group = np.repeat(random.normal(0, self.hard, (runs, len(sizes))), sizes, axis=1)
        return self.level + of_group + random.normal(0, self.hard, of_group.shape)


COIN_FLIPS = World("independent coin flips")
ALIKE = World("one question a group, readers alike", hard=2)
UNEQUAL = World("unequal groups", unequal=True, hard=1, apart=0.5)
GRADED = replace(UNEQUAL, title="unequal groups, F1", graded=True)


def with_seeds(world: World, first: int, second: int, apart: float = 0.3) -> World:
    """The same with several seeds, which differ by about seven points, or by more."""
    title = f"{world.title}, {first} seeds" if first == second else f"{world.title}, {first} and {second} seeds"
    return replace(world, title=title, first=first, second=second, seeds_apart=apart)


FAR_APART = (with_seeds(UNEQUAL, 2, 2, 1.5), with_seeds(UNEQUAL, 3, 3, 1.5), with_seeds(UNEQUAL, 2, 5, 1.5))
WORLDS = (
    COIN_FLIPS,
    ALIKE,
    UNEQUAL,
    GRADED,
    *(with_seeds(UNEQUAL, seeds, seeds) for seeds in (2, 3, 4, 5)),
    *(with_seeds(GRADED, seeds, seeds) for seeds in (2, 3, 4, 5)),
    with_seeds(UNEQUAL, 2, 5),
    *(replace(world, title=f"{world.title} far apart") for world in FAR_APART),
)
SINGLE = tuple(
    replace(world, title=f"{world.title}, mean about {percent} %", level=level)
    for world in (COIN_FLIPS, UNEQUAL, GRADED)
    for percent, level in ((50, 0.0), (80, 1.8), (95, 4.0))
) + tuple(with_seeds(UNEQUAL, seeds, seeds) for seeds in (2, 3, 5))


def _draws(world: World, groups: int, runs: int) -> Iterator[tuple[np.ndarray, np.random.Generator, np.ndarray, int]]:
    """Yield the groups of questions of each layout, and how hard they are in its share of the runs."""
    layouts = LAYOUTS if world.unequal else 1
    for layout in range(layouts):
        random = np.random.default_rng([groups, layout])
        sizes = world.sizes(random, groups)
        share = runs // layouts
        yield sizes, random, world.shared(random, sizes, share), share


def false_alarms(world: World, groups: int, runs: int, subsets: int = 2_000) -> float:
    """Share of runs in which readers that are equally good have a p value below 5 %."""
    alarms, count = 0, 0
    for sizes, random, shared, share in _draws(world, groups, runs):
        sides = [world.marks(random, sizes, share, seeds, shared) for seeds in (world.first, world.second)]
        tested = paired_tests(list(zip(*sides, strict=True)), np.repeat(np.arange(groups), sizes), subsets=subsets)
        alarms += sum(difference.p < 0.05 for difference in tested)
        count += share
    return alarms / count


def coverage(world: World, groups: int, runs: int) -> float:
    """Share of runs in which the interval of a reader's mean holds the mean over all groups and seeds."""
    random = np.random.default_rng(0)
    # Sizes do not depend on how hard a group is, so readers of very many seeds tell the mean.
    everything = np.ones(20, dtype=int)
    mean = world.marks(random, everything, 20_000, 1, world.shared(random, everything, 20_000)).mean()
    held, count = 0, 0
    for sizes, drawn, shared, share in _draws(world, groups, runs):
        marks = world.marks(drawn, sizes, share, world.first, shared)
        several = intervals(list(marks), np.repeat(np.arange(groups), sizes))
        held += sum(estimate.low <= mean <= estimate.high for estimate in several)
        count += share
    return held / count


def _row(cell: tuple[bool, World, int]) -> str:
    is_paired, world, runs = cell
    measured = (
        100 * (false_alarms(world, groups, runs) if is_paired else coverage(world, groups, runs)) for groups in GROUPS
    )
    return f"| {world.title} | " + " | ".join(f"{percent:.1f}" for percent in measured) + " |"


def main(runs: int) -> None:
    """Print both tables."""
    cells = [(True, world, runs) for world in WORLDS] + [(False, world, runs) for world in SINGLE]
    with ProcessPoolExecutor() as pool:
        for row in pool.map(_row, cells):
            print(row, flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else RUNS)
