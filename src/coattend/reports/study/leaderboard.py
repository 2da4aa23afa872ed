"""The leaderboard: how long configurations train until they reach a score, a row for each on each machine."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from statistics import fmean, median
from typing import Any

from coattend.evaluation.records import TrialRecord
from coattend.evaluation.runs import finished
from coattend.reports import provenance
from coattend.reports.records import LeaderboardRow, StudyFindings
from coattend.reports.render import Section, markdown_page
from coattend.reports.study.table import rows_in_question, title_of, trials_by_training_benchmark
from coattend.reports.study.time_to_score import NOT_REACHED, reached
from coattend.reports.study.trial_records import FileOfTrial, recorded_findings
from coattend.reports.tables import NO_VALUE, Table, TableRow, noted_cell

COMMAND = "kedro run --env small --pipelines study_ours_time_to_score_dream,leaderboard"

_TEXT = (
    "Minutes of training until the score on held-out questions reaches a threshold that it holds at all later "
    "evaluations (their own time does not count): the median over seeds, or none where a seed does not reach it, and "
    "with it the minutes of each seed that was run. Processor minutes are those of all threads. Trainings that "
    "python -m perf gpu times end there, and have no score on dev. Rows of different machines do not compare.",
    f"This command adds rows of your machine, and trains what is not trained there yet, while nothing else should run: "
    f"{COMMAND}. A bare machine with a GPU is timed by python -m perf gpu.",
)


def leaderboard_rows(records: Mapping[str, Any]) -> list[LeaderboardRow]:
    """Make the rows of a study that measures the time to a score, from its records."""
    findings = recorded_findings(records)
    rows: list[LeaderboardRow] = []
    for benchmark, by_variant in trials_by_training_benchmark(findings).items():
        threshold = findings.get("thresholds", {}).get(benchmark)
        if threshold is None:
            continue
        for variant, trials in by_variant.items():
            by_machine: dict[str, list[TrialRecord]] = {}
            # Trials of code that did not note the seconds have no time.
            for trial in (trial for trial in finished(trials) if _is_timed(trial)):
                by_machine.setdefault(provenance.machine(trial), []).append(trial)
            for machine, timed_trials in by_machine.items():
                files: list[FileOfTrial] = [records[trial["trial_id"]] for trial in timed_trials]
                newest_first = sorted(files, key=lambda file: file["finished"], reverse=True)
                commits = dict.fromkeys(file["commit"] for file in newest_first if file["commit"])
                points = {str(trial["seed"]): reached(trial["curve"], threshold) for trial in timed_trials}
                memory = [peak for trial in timed_trials if (peak := trial.get("peak_memory_mib"))]
                rows.append(
                    {
                        "benchmark": benchmark,
                        "study": findings["name"],
                        "variant": variant,
                        "title": title_of(findings, variant),
                        "threshold": threshold,
                        "date": max(file["finished"] for file in files),
                        "commit": ", ".join(commits) or None,
                        "machine": machine,
                        "seconds": {seed: point and point["seconds"] for seed, point in points.items()},
                        "processor_seconds": {
                            seed: point and point["processor_seconds"] for seed, point in points.items()
                        },
                        "peak_memory_mib": max(memory, default=None),
                        "score": _score(findings, benchmark, variant, points),
                    }
                )
    return rows


def _is_timed(trial: TrialRecord) -> bool:
    return bool(trial["curve"]) and all("seconds" in point for point in trial["curve"])


def _score(findings: StudyFindings, benchmark: str, variant: str, seeds: Collection[str]) -> float | None:
    """Return the mean score on dev of the trials with some seeds."""
    scores = (
        fmean(row["seeds"][seed] for seed in seeds)
        for row in rows_in_question(findings)
        if (row["benchmark"], row["variant"], row["split"]) == (benchmark, variant, "dev")
        and row["metric"] in ("accuracy", "f1")
    )
    return next(scores, None)


def merged(before: Iterable[LeaderboardRow], new: Iterable[LeaderboardRow]) -> list[LeaderboardRow]:
    """Put new rows in the place of earlier ones of the same configuration, threshold, machine and commit; the fastest
    come first."""
    rows = {
        (row["benchmark"], row["variant"], row["title"], row["threshold"], row["machine"], row["commit"]): row
        for row in (*before, *new)
    }
    return sorted(
        rows.values(),
        key=lambda row: (row["benchmark"], row["threshold"], _median(row["seconds"]) or float("inf"), row["title"]),
    )


def leaderboard_page(rows: Sequence[LeaderboardRow]) -> str:
    """Write the leaderboard as Markdown."""
    by_goal: dict[tuple[str, float], list[LeaderboardRow]] = {}
    for row in rows:
        by_goal.setdefault((row["benchmark"], row["threshold"]), []).append(row)
    tables = tuple(
        Table.of(f"{benchmark}, to {threshold:g} % of the held-out questions", map(_table_row, goal))
        for (benchmark, threshold), goal in by_goal.items()
    )
    text = _TEXT if rows else (*_TEXT, "Nothing was timed yet.")
    return markdown_page("Time to a score", [Section("Leaderboard", text, tables)])


def _table_row(row: LeaderboardRow) -> TableRow:
    memory, score, seconds = row["peak_memory_mib"], row["score"], row["seconds"]
    by_seed = ", ".join(f"seed {seed}: {_minutes(value)}" for seed, value in sorted(seconds.items()))
    processor = [value for value in row["processor_seconds"].values() if value is not None]
    return {
        "Configuration": row["title"],
        "Minutes": noted_cell(_minutes(_median(seconds)), by_seed),
        "Processor minutes": _minutes(fmean(processor) if len(processor) == len(seconds) else None),
        "Peak memory, GB": NO_VALUE if memory is None else f"{memory * 2**20 / 1e9:.1f}",
        "Dev score at the end": NO_VALUE if score is None else f"{score:.1f}",
        "Machine": row["machine"],
        "Commit": ", ".join(map(provenance.short_commit, row["commit"].split(", "))) if row["commit"] else NO_VALUE,
        "Date": row["date"],
    }


def _median(seconds: Mapping[str, float | None]) -> float | None:
    """The median over seeds; None where one of them does not reach the threshold."""
    known = [value for value in seconds.values() if value is not None]
    return median(known) if known and len(known) == len(seconds) else None


def _minutes(seconds: float | None) -> str:
    if seconds is None:
        return NOT_REACHED
    return f"{seconds / 60:.1f}" if seconds >= 60 else f"{seconds / 60:.2f}"
