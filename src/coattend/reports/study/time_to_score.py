"""Time to a score: the seconds of training after which held-out questions are answered well, and stay so."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from statistics import median
from typing import TypeVar

from coattend.evaluation.records import CurvePoint, TrialRecord
from coattend.evaluation.runs import finished
from coattend.reports.records import StudyFindings
from coattend.reports.render import Section
from coattend.reports.study.table import title_of, trials_by_training_benchmark
from coattend.reports.tables import Cell, Table, TableRow, noted_cell

NOT_REACHED, NOT_TIMED = "not reached", "not timed"

_TEXT = (
    "The time to a score is that of the first evaluation at which the score on held-out questions has reached a "
    "threshold that it holds at all later ones. It counts training by the clock, not the evaluations in "
    "between; seconds of the processor are those of all of its threads.",
    "Ratios compare trials of the same seed on the same machine, and brackets hold the least and the greatest. There "
    "is none where a trial of either variant does not reach the threshold.",
)

Trained = TypeVar("Trained", int, tuple[int, str])
"""What two trials share whose seconds are compared: the seed, or the seed and the device."""


def reached(curve: Sequence[CurvePoint], threshold: float) -> CurvePoint | None:
    """Find the first evaluation that reaches a threshold in percent which all later ones hold; None without one."""
    first = None
    for point in curve:
        score = point.get("held_out")
        if score is None:
            continue
        if 100 * score < threshold:
            first = None
        elif first is None:
            first = point
    return first


def time_sections(findings: StudyFindings) -> Iterator[Section]:
    """Write a section for each benchmark whose time to a score the study measures."""
    for benchmark, by_variant in trials_by_training_benchmark(findings).items():
        trials_by_variant = {name: trials for name, records in by_variant.items() if (trials := finished(records))}
        threshold = findings.get("thresholds", {}).get(benchmark)
        title = f"Time to a score on {benchmark}"
        if threshold is None:
            yield Section(title, (f"No threshold is set: thresholds.{benchmark} of the study.",))
        elif trials_by_variant:
            tables = (_times(findings, trials_by_variant, threshold), _ratios(findings, trials_by_variant, threshold))
            text = (f"Threshold: {threshold:g} % of the held-out questions.", *_TEXT)
            yield Section(title, text, tuple(table for table in tables if table.rows))


def _times(findings: StudyFindings, trials_by_variant: Mapping[str, Sequence[TrialRecord]], threshold: float) -> Table:
    """List the seconds of each trial, by variant and seed."""
    columns = [
        (f"Seed {seed}", {name: _time_cell(trials, seed, threshold) for name, trials in trials_by_variant.items()})
        for seed in findings["seeds"]
    ]
    titles = {name: title_of(findings, name) for name in trials_by_variant}
    return Table.of_columns(f"Seconds to {threshold:g} %", "Variant", columns, titles)


def _time_cell(trials: Sequence[TrialRecord], seed: int, threshold: float) -> Cell:
    curve = next((trial.get("curve", []) for trial in trials if trial["seed"] == seed), None)
    if curve is None:
        return Cell("not run")
    scored = [point for point in curve if point.get("held_out") is not None]
    point = reached(scored, threshold)
    if point is None:
        best = max((100 * (point.get("held_out") or 0.0) for point in scored), default=0.0)
        return noted_cell(NOT_REACHED, f"best {best:.1f} %")
    step = f"step {point['step']} of {scored[-1]['step']}"
    if "seconds" not in point:
        return noted_cell(NOT_TIMED, step)
    return noted_cell(f"{point['seconds']:,.0f}", f"processor {point['processor_seconds']:,.0f}", step)


def _ratios(findings: StudyFindings, trials_by_variant: Mapping[str, Sequence[TrialRecord]], threshold: float) -> Table:
    """Compare each variant with every other, the faster with the slower."""
    rows: list[TableRow] = []
    seconds = {name: _seconds(trials, threshold) for name, trials in trials_by_variant.items()}
    for pair in combinations(trials_by_variant, 2):
        times = [seconds[name] for name in pair]
        if not times[0].keys() & times[1].keys():
            continue
        titles = [title_of(findings, name) for name in pair]
        ratios = ratios_by_seed(*times)
        if ratios is None:
            rows.append({"Variant": titles[0], "Beside": titles[1], "Times as fast": NOT_REACHED})
            continue
        if median(ratios) < 1:
            titles, ratios = titles[::-1], [1 / ratio for ratio in ratios]
        spread = f"[{min(ratios):.1f}, {max(ratios):.1f}]" if len(ratios) > 1 else "one seed"
        rows.append(
            {"Variant": titles[0], "Beside": titles[1], "Times as fast": noted_cell(f"{median(ratios):.1f} x", spread)}
        )
    return Table.of("How many times as fast", rows)


def ratios_by_seed(fast: Mapping[Trained, float | None], slow: Mapping[Trained, float | None]) -> list[float] | None:
    """Divide the seconds of two variants, for each seed that both have; None if any trial of theirs has no seconds."""
    known = [{seed: value for seed, value in times.items() if value is not None} for times in (fast, slow)]
    if known != [dict(fast), dict(slow)]:
        return None
    return [known[1][seed] / known[0][seed] for seed in sorted(fast.keys() & slow.keys())]


def _seconds(trials: Sequence[TrialRecord], threshold: float) -> dict[tuple[int, str], float | None]:
    """Map the seed and the device of each timed trial to its seconds to a threshold, None where it is not reached."""
    points = {
        (trial["seed"], trial["device"]): reached(trial.get("curve", []), threshold) for trial in finished(trials)
    }
    return {
        trained: None if point is None else point["seconds"]
        for trained, point in points.items()
        if point is None or "seconds" in point
    }
