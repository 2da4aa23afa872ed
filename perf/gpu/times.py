"""Time to a score on a GPU: seconds of training until held-out questions are answered well, one training at a time.

The thresholds are those of the studies that do the same on processors.
"""

import shutil
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from coattend.reports.records import LeaderboardRow
from coattend.reports.study.time_to_score import NOT_REACHED, ratios_by_seed, reached
from coattend.training.run_trial import TrialRunner
from perf.gpu.machine import Pack
from perf.gpu.plan import ONCE
from perf.gpu.rows import TIMED_STUDIES
from perf.timing import ratio

TITLES = {
    ONCE: "Baseline, passages apart",
    "plain": "Baseline, joint",
    "stock": "Stock recipe, padded to the longest",
}
"""Rows as the leaderboard has them."""

Figures = dict[str, Any]


def steps(pack: Pack) -> dict[str, Callable[[Pack], Figures]]:
    """Return the trainings by name."""
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
    described = {name: timed[name] for name in ("row", "benchmark", "seed", "questions", "threshold")}
    described |= {name: getattr(experiment.training, name) for name in ("tokens_per_batch", "learning_rate")}
    return described | {"peak_memory_mib": outcome["peak_memory_mib"], "curve": curve}


def summarise(figures: Mapping[str, Figures]) -> Figures:
    """Compare passages read once with the other rows by the seconds to the threshold, seed by seed.

    Args:
        figures: Those of each training.

    Returns:
        For each benchmark: its training questions, None for all, and the threshold in percent; the tokens of a batch,
        the learning rate and the seconds of each row, seed by seed; and how many times as fast as each other row
        passages read once are, if no trial of theirs misses the threshold.
    """
    benchmarks = dict.fromkeys(each["benchmark"] for each in figures.values())
    return {
        benchmark: _summarise([each for each in figures.values() if each["benchmark"] == benchmark])
        for benchmark in benchmarks
    }


def _summarise(trainings: Sequence[Figures]) -> Figures:
    seconds: dict[str, dict[int, float | None]] = {}
    for each in trainings:
        seconds.setdefault(each["row"], {})[each["seed"]] = _seconds(each)
    once = seconds.pop(ONCE, {})
    return {
        "questions": trainings[0]["questions"],
        "threshold": trainings[0]["threshold"],
        "tokens_per_batch": {each["row"]: each["tokens_per_batch"] for each in trainings},
        "learning_rate": {each["row"]: each["learning_rate"] for each in trainings},
        "seconds": {row: _in_words(by_seed) for row, by_seed in ({ONCE: once} | seconds).items()},
        "times_as_fast": {row: _times_as_fast(once, by_seed) for row, by_seed in seconds.items()},
    }


def _seconds(training: Figures) -> float | None:
    """Return the seconds after which a training has reached its threshold; None if it has not."""
    point = reached(training["curve"], training["threshold"])
    return None if point is None else point["seconds"]


def leaderboard_rows(entry: Mapping[str, Any]) -> list[LeaderboardRow]:
    """Make the rows of the leaderboard from the trainings of a machine, one for each benchmark and row."""
    figures, machine = entry["figures"].values(), entry["machine"]
    rows: dict[tuple[str, str], LeaderboardRow] = {}
    for each in figures:
        benchmark, row, threshold = each["benchmark"], each["row"], each["threshold"]
        ranked = rows.setdefault(
            (benchmark, row),
            {
                "benchmark": benchmark,
                "study": TIMED_STUDIES.get(benchmark, TIMED_STUDIES["race"]),
                "variant": row,
                "title": _title(each),
                "threshold": threshold,
                "date": entry["measured"],
                "commit": machine["code"],
                "machine": f"{machine['gpu'] or machine['processor']}, {'bf16' if machine['bf16'] else 'fp32'}",
                "seconds": {},
                "processor_seconds": {},
                "peak_memory_mib": each["peak_memory_mib"],
                "score": None,
            },
        )
        peaks = [peak for peak in (ranked["peak_memory_mib"], each["peak_memory_mib"]) if peak is not None]
        ranked["peak_memory_mib"] = max(peaks, default=None)
        point, seed = reached(each["curve"], threshold), str(each["seed"])
        ranked["seconds"][seed] = None if point is None else point["seconds"]
        ranked["processor_seconds"][seed] = None if point is None else point["processor_seconds"]
    return list(rows.values())


def _title(training: Figures) -> str:
    batches = "batches of 8" if training["row"] == "stock" else f"batches of {training['tokens_per_batch']:,} tokens"
    questions = f"{training['questions']:,}" if training["questions"] else "all"
    return f"{TITLES[training['row']]}, {batches}, rate {training['learning_rate']:g}, {questions} questions"


def _in_words(seconds: Mapping[int, float | None]) -> str:
    return ", ".join(NOT_REACHED if seconds[seed] is None else f"{seconds[seed]:.1f}" for seed in sorted(seconds))


def _times_as_fast(fast: Mapping[int, float | None], slow: Mapping[int, float | None]) -> Figures | None:
    """Return the ratio over the seeds of both; None if a trial of theirs does not reach the threshold."""
    ratios = ratios_by_seed(fast, slow)
    return ratio(ratios, [1.0] * len(ratios)) if ratios else None
