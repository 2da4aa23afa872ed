"""Time to a score on a GPU: seconds of training until held-out questions are answered well, one training at a time.

The first training is a pilot, of joint `plain` with a seed of its own: its best score on held-out questions, less two
points, is the threshold of the others.
"""

import shutil
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from coattend.reports.study.time_to_score import NOT_REACHED, reached
from coattend.training.run_trial import TrialRunner
from perf.gpu.machine import Pack
from perf.gpu.plan import ONCE, PILOT
from perf.timing import ratio

LESS = 2.0
"""Points that the threshold lies below the pilot's best score."""

Figures = dict[str, Any]


def steps(pack: Pack) -> dict[str, Callable[[Pack], Figures]]:
    """Return the trainings by name, the pilot first."""
    return {timed["key"]: partial(_train, timed=timed) for timed in pack.about["timed"]}


def _train(pack: Pack, timed: Mapping[str, Any]) -> Figures:
    """Train a trial alone, or go on with it; return its scores on held-out questions with the seconds before them."""
    experiment, store = pack.experiment_of(timed["benchmark"], timed["entry"]), pack.work / "timed"
    outcome, error = TrialRunner(experiment, store, pack.training_questions(experiment)).attempt(timed["seed"])
    if error is not None:
        return {"problem": str(error)}
    shutil.rmtree(store / outcome["folder"])
    curve = [
        {name: point[name] for name in ("step", "held_out", "seconds", "processor_seconds")}
        for point in outcome["curve"]
        if point["held_out"] is not None
    ]
    described = {name: timed[name] for name in ("row", "benchmark", "seed", "questions")}
    return described | {"peak_memory_mib": outcome["peak_memory_mib"], "curve": curve}


def summarise(figures: Mapping[str, Figures]) -> Figures:
    """Compare passages read once with the other rows by the seconds to the pilot's threshold, seed by seed.

    Args:
        figures: Those of each training.

    Returns:
        The threshold in percent; the seconds of each row, seed by seed; and how many times as fast as each other row
        passages read once are, if no trial of theirs misses the threshold. Nothing without a pilot.
    """
    pilot = next((each for each in figures.values() if each["row"] == PILOT), None)
    if pilot is None:
        return {}
    threshold = 100 * max(point["held_out"] for point in pilot["curve"]) - LESS
    seconds: dict[str, dict[int, float | None]] = {}
    for each in figures.values():
        if each is not pilot:
            point = reached(each["curve"], threshold)
            seconds.setdefault(each["row"], {})[each["seed"]] = None if point is None else point["seconds"]
    once = seconds.pop(ONCE, {})
    return {
        "benchmark": pilot["benchmark"],
        "questions": pilot["questions"],
        "threshold": round(threshold, 1),
        "seconds": {row: _in_words(by_seed) for row, by_seed in ({ONCE: once} | seconds).items()},
        "times_as_fast": {row: _times_as_fast(once, by_seed) for row, by_seed in seconds.items()},
    }


def _in_words(seconds: Mapping[int, float | None]) -> str:
    return ", ".join(NOT_REACHED if seconds[seed] is None else f"{seconds[seed]:.1f}" for seed in sorted(seconds))


def _times_as_fast(fast: Mapping[int, float | None], slow: Mapping[int, float | None]) -> Figures | None:
    """Return the ratio over the seeds of both; None if a trial of theirs does not reach the threshold."""
    seeds = fast.keys() & slow.keys()
    pairs = [(late, soon) for seed in seeds if (late := slow[seed]) is not None and (soon := fast[seed]) is not None]
    return ratio(*zip(*pairs, strict=True)) if pairs and len(pairs) == len(seeds) else None
