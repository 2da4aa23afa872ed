"""Numbers that papers print."""

from collections.abc import Collection, Iterator
from typing import Any

from coattend import configuration
from coattend.errors import did_you_mean
from coattend.parameters.study import Numbers
from coattend.study_checks.problem import Problem, unknown

SPLITS = ("dev", "test")
ALONE, LOSS = "accuracy", "loss"
"""What a number alone is, and what may stand beside every score."""

OF_TASK = {"options": (ALONE,), "word": (ALONE,), "span": ("exact_match", "f1")}
"""What the scores of each task are called that papers print."""

METRICS = {name for printed in OF_TASK.values() for name in printed}

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
            if split not in SPLITS:
                continue
            # Scores may be printed step by step.
            steps = isinstance(cell, dict) and all(isinstance(key, int) for key in cell)
            for step, score in cell.items() if steps else [(None, cell)]:
                yield from _of_score(here if step is None else (*here, step), name, score)


def _of_score(path: tuple[Any, ...], benchmark: str, score: Any) -> Iterator[Problem]:
    """A score that is no number, or of a metric that its benchmark is not scored by."""
    by_metric = score if isinstance(score, dict) else {ALONE: score}
    known = [printed for task in configuration.benchmark(benchmark).tasks for printed in OF_TASK[task]]
    for metric, value in by_metric.items():
        here = (*path, metric) if isinstance(score, dict) else path
        if metric not in (*known, LOSS):
            what = f"{benchmark} is not scored by {metric}"
            yield Problem(here, what, did_you_mean(metric, known) if metric not in METRICS else _say(known))
        elif isinstance(value, bool) or not isinstance(value, int | float):
            yield Problem(here, f"must be a number, not {value!r}", None)


def _say(known: Collection[str]) -> str:
    return f"Say which of its metrics it is: {', '.join(dict.fromkeys(known))}"
