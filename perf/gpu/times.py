"""Time to a score on a GPU: seconds of training until held-out questions are answered well, one training at a time.

Pilots with a seed of their own come first. The best score of one of joint `plain` on held-out questions, less two
points, is the threshold of the others, and a row has the batches of that pilot of its own that was there first.
"""

import shutil
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from coattend.reports.records import LeaderboardRow
from coattend.reports.study.time_to_score import NOT_REACHED, reached
from coattend.training.run_trial import TrialRunner
from perf.gpu.machine import Pack
from perf.gpu.plan import ONCE, PILOT
from perf.gpu.results import Results
from perf.gpu.rows import TIMED_STUDIES
from perf.timing import ratio

LESS = 2.0
"""Points that the threshold lies below the pilots' best score."""

TITLES = {
    ONCE: "Baseline, passages apart",
    "plain": "Baseline, joint",
    "stock": "Stock recipe, padded to the longest",
}
"""Rows as the leaderboard has them."""

BATCH = ("tokens_per_batch", "learning_rate")
"""Training parameters that a row takes from its pilot."""

Figures = dict[str, Any]


def steps(pack: Pack, results: Results) -> dict[str, Callable[[Pack], Figures]]:
    """Return the trainings by name, the pilots first; the others look up in the results what these have found."""
    return {timed["key"]: partial(_train, timed=timed, results=results) for timed in pack.about["timed"]}


def _train(pack: Pack, timed: Mapping[str, Any], results: Results) -> Figures:
    """Train a trial alone, or go on with it; return its scores on held-out questions with the seconds before them."""
    entry, before = timed["entry"], results.figures().get("times", {"figures": {}})["figures"]
    if timed["row"] != PILOT and (batch := batch_of(timed["variant"], timed["benchmark"], before.values())):
        entry = entry | {"training": entry["training"] | batch}
    experiment, store = pack.experiment_of(timed["benchmark"], entry), pack.work / "timed"
    outcome, error = TrialRunner(experiment, store, pack.training_questions(experiment)).attempt(timed["seed"])
    if error is not None:
        return {"problem": str(error)}
    shutil.rmtree(store / outcome["folder"])
    curve = [
        {name: point[name] for name in ("step", "held_out", "seconds", "processor_seconds")}
        for point in outcome["curve"]
        if point["held_out"] is not None
    ]
    described = {name: timed[name] for name in ("row", "variant", "benchmark", "seed", "questions")}
    described |= {name: getattr(experiment.training, name) for name in BATCH}
    return described | {"peak_memory_mib": outcome["peak_memory_mib"], "curve": curve}


def batch_of(variant: str, benchmark: str, figures: Iterable[Figures]) -> dict[str, Any]:
    """Return the batch's tokens and the rate of the pilot of a variant that reaches the threshold first, or that scores
    best at its end if none does; nothing for a variant without pilots."""
    pilots = _pilots(benchmark, figures)
    threshold = _threshold(pilots)

    def soonest(pilot: Figures) -> tuple[bool, float]:
        point = reached(pilot["curve"], threshold)
        return point is None, point["seconds"] if point is not None else -pilot["curve"][-1]["held_out"]

    own = [pilot for pilot in pilots if pilot["variant"] == variant]
    return {name: min(own, key=soonest)[name] for name in BATCH} if own else {}


def _pilots(benchmark: str, figures: Iterable[Figures]) -> list[Figures]:
    return [each for each in figures if each.get("row") == PILOT and each["benchmark"] == benchmark]


def _threshold(pilots: Iterable[Figures]) -> float:
    """Return the threshold in percent, as pages show it."""
    best = max(point["held_out"] for pilot in pilots if pilot["variant"] == "plain" for point in pilot["curve"])
    return round(100 * float(best) - LESS, 1)


def summarise(figures: Mapping[str, Figures]) -> Figures:
    """Compare passages read once with the other rows by the seconds to the threshold, seed by seed.

    Args:
        figures: Those of each training.

    Returns:
        For each benchmark whose pilots have ended: the threshold in percent; the seconds of each row, seed by seed; its
        batch's tokens; and how many times as fast as each other row passages read once are, if no trial of theirs
        misses the threshold.
    """
    benchmarks = dict.fromkeys(each["benchmark"] for each in figures.values() if each["row"] == PILOT)
    return {benchmark: _summarise(benchmark, figures.values()) for benchmark in benchmarks}


def _summarise(benchmark: str, figures: Iterable[Figures]) -> Figures:
    pilots = _pilots(benchmark, figures)
    threshold = _threshold(pilots)
    seconds: dict[str, dict[int, float | None]] = {}
    tokens = {}
    for each in figures:
        if each["benchmark"] == benchmark and each["row"] != PILOT:
            point = reached(each["curve"], threshold)
            seconds.setdefault(each["row"], {})[each["seed"]] = None if point is None else point["seconds"]
            tokens[each["row"]] = each["tokens_per_batch"]
    once = seconds.pop(ONCE, {})
    return {
        "questions": pilots[0]["questions"],
        "threshold": threshold,
        "tokens_per_batch": tokens,
        "seconds": {row: _in_words(by_seed) for row, by_seed in ({ONCE: once} | seconds).items()},
        "times_as_fast": {row: _times_as_fast(once, by_seed) for row, by_seed in seconds.items()},
    }


def leaderboard_rows(entry: Mapping[str, Any]) -> list[LeaderboardRow]:
    """Make the rows of the leaderboard from the trainings of a machine, one for each benchmark and row."""
    figures, machine = entry["figures"].values(), entry["machine"]
    rows: dict[tuple[str, str], LeaderboardRow] = {}
    for each in figures:
        benchmark, row = each["benchmark"], each["row"]
        pilots = _pilots(benchmark, figures)
        if row == PILOT or not pilots:
            continue
        threshold = _threshold(pilots)
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
        point, seed = reached(each["curve"], threshold), str(each["seed"])
        ranked["seconds"][seed] = None if point is None else point["seconds"]
        ranked["processor_seconds"][seed] = None if point is None else point["processor_seconds"]
    return list(rows.values())


def _title(training: Figures) -> str:
    batches = "batches of 8" if training["row"] == "stock" else f"batches of {training['tokens_per_batch']:,} tokens"
    questions = f"{training['questions']:,}" if training["questions"] else "all"
    return f"{TITLES[training['row']]}, {batches}, {questions} questions"


def _in_words(seconds: Mapping[int, float | None]) -> str:
    return ", ".join(NOT_REACHED if seconds[seed] is None else f"{seconds[seed]:.1f}" for seed in sorted(seconds))


def _times_as_fast(fast: Mapping[int, float | None], slow: Mapping[int, float | None]) -> Figures | None:
    """Return the ratio over the seeds of both; None if a trial of theirs does not reach the threshold."""
    seeds = fast.keys() & slow.keys()
    pairs = [(late, soon) for seed in seeds if (late := slow[seed]) is not None and (soon := fast[seed]) is not None]
    return ratio(*zip(*pairs, strict=True)) if pairs and len(pairs) == len(seeds) else None
