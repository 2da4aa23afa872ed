"""Numbers that papers print."""

from collections.abc import Collection, Iterator
from typing import Any

from coattend import configuration
from coattend.parameters.study import Numbers
from coattend.study_checks.problem import Problem, unknown

SPLITS = ("dev", "test")
METRICS = ("accuracy", "exact_match", "f1", "loss")
"""What scores are called that papers print; a number alone is an accuracy."""

QUANTITIES = ("parameters_millions", "minutes_per_epoch", "boundary_pos", "boundary_pos_wrong")
"""What else papers print, for a variant or for it on a benchmark."""


def of_subset(path: tuple[Any, ...], benchmark: str, subset: str) -> Iterator[Problem]:
    """A subset that a benchmark does not have, where its file names them; none is the whole benchmark."""
    known = configuration.benchmark(benchmark).subsets
    if subset and known:
        yield from unknown(path, subset, known, f"subset of {benchmark}")


def of_numbers(path: tuple[Any, ...], numbers: Numbers, benchmarks: Collection[str]) -> Iterator[Problem]:
    """Numbers of nothing that the study has or papers print."""
    for name, value in numbers.items():
        yield from unknown((*path, name), name, (*benchmarks, *QUANTITIES), "benchmark or quantity")
        if name in benchmarks and not isinstance(value, dict):
            yield Problem((*path, name), "must be a mapping of splits to scores", None)
            continue
        for place, cell in value.items() if name in benchmarks else ():
            here = (*path, name, place)
            split, _, subset = place.partition("/")
            yield from unknown(here, split, (*SPLITS, *QUANTITIES), "split or quantity")
            yield from of_subset(here, name, subset)
            # Scores may be printed step by step.
            scores = cell.values() if isinstance(cell, dict) and all(isinstance(key, int) for key in cell) else [cell]
            for score in scores:
                for metric in score if isinstance(score, dict) else ():
                    yield from unknown((*here, metric), metric, METRICS, "metric")
