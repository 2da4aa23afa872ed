"""The page of a benchmark: its readers' scores, calibration, training, costs and settings, compared."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from coattend.evaluation.bootstrap import LEVEL
from coattend.evaluation.groups import EVERYTHING
from coattend.evaluation.records import (
    Calibration,
    ReaderMetrics,
    TrialRecord,
    score_of,
)
from coattend.evaluation.summary import METRICS
from coattend.reports import figures
from coattend.reports.records import BenchmarkResults, ReaderEntry, RejectedRecords
from coattend.reports.render import Section, html_page, markdown_page
from coattend.reports.scores import question_type_tables, score_tables, scored_readers
from coattend.reports.sections import (
    CALIBRATION_TEXT,
    ENCODER_NOTE,
    calibration_table,
    partial_scoring,
    reliability_table,
    training_warnings,
    unmonitored_trials,
)
from coattend.reports.tables import (
    METRIC_TITLES,
    NO_VALUE,
    NOT_RUN,
    Cell,
    Table,
    estimate_cell,
    format_duration,
    format_interval,
    format_p_value,
    format_setting,
    heads,
    p_value_in_text,
    settings_tables,
)

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

MIB_PER_GIB = 1024
LISTED_REASONS = 5
"""Reasons of rejections that are listed; the rejected table has all."""


def render_html(results: BenchmarkResults) -> str:
    """Render a comparison of readers as an HTML page."""
    return html_page(_title(results), sections(results))


def render_markdown(results: BenchmarkResults) -> str:
    """Render a comparison of readers as Markdown."""
    return markdown_page(_title(results), sections(results))


def _title(results: BenchmarkResults) -> str:
    return f"{results['title']}: readers compared"


def sections(results: BenchmarkResults) -> list[Section]:
    """Write the sections of a comparison of readers."""
    candidates = [
        _summary(results),
        _scores(results),
        _differences(results),
        _question_types(results),
        _calibration(results),
        _training(results),
        Section("Costs", tables=(costs_table(results),)),
        _settings(results),
        Section("What to keep in mind", tuple(cautions(results))),
    ]
    return [section for section in candidates if section is not None]


def dot_plot(results: BenchmarkResults) -> "Figure":
    """Draw the scores of all readers."""
    return figures.dot_plot(results, {task: scored_readers(results, task) for task in results["baselines"]})


def _summary(results: BenchmarkResults) -> Section:
    text = [sentence for task in results["baselines"] for sentence in _leaders(results, task)]
    # Failed readers and those that were not run are named, so that no score seems to be missing.
    if not text:
        text = ["No reader has been scored yet."]
    for status, description in (("not run", "Not run"), ("failed", "Failed in every trial")):
        names = [name for name, entry in results["readers"].items() if entry["status"] == status]
        if names:
            text.append(f"{description}: {', '.join(names)}.")
    if any(_warnings(results)):
        text.append("There are warnings, under “What to keep in mind”.")
    return Section("In short", tuple(text))


def _leaders(results: BenchmarkResults, task: str) -> Iterator[str]:
    """Name the best reader of each split, beside chance and the baseline."""
    readers, metric = scored_readers(results, task), METRICS[task][-1]
    of_task = f" ({task})" if len(results["baselines"]) > 1 else ""
    metric_title = METRIC_TITLES[metric] if METRIC_TITLES[metric].isupper() else METRIC_TITLES[metric].lower()
    for split in _splits(readers):
        scores = {
            name: score_of(metrics["splits"][split][EVERYTHING], metric)
            for name, metrics in readers.items()
            if split in metrics["splits"]
        }
        best = max(scores, key=lambda name: scores[name]["mean"])
        # With one passage there is no interval.
        score = f"{scores[best]['mean']:.1f} % {format_interval(scores[best])}".strip()
        chance = results["chance"][task].get(split, {}).get(EVERYTHING, 0.0)
        versus_chance = f"; {figures.CHANCE[task]} scores {chance:.1f} %" if chance else ""
        sentence = f"On {split}{of_task}, {best} has the highest {metric_title}: {score}{versus_chance}."
        yield sentence + _versus_baseline(results, best, split, metric)


def _splits(readers: Mapping[str, ReaderMetrics]) -> list[str]:
    return sorted({split for metrics in readers.values() for split in metrics["splits"]})


def _versus_baseline(results: BenchmarkResults, reader: str, split: str, metric: str) -> str:
    for difference in results["differences"]:
        if (difference["reader"], difference["split"], difference["metric"]) == (reader, split, metric):
            points = f"{difference['mean']:+.1f} points {format_interval(difference, '+')}"
            p_value = p_value_in_text(difference["p"])
            return f" Against {difference['baseline']} that is {points}, p\u00a0{p_value}."
    return ""


def _scores(results: BenchmarkResults) -> Section:
    text = (
        "Percent of all questions of a split; a missing answer counts as wrong. In brackets: where the number would "
        f"lie for {100 * LEVEL:.0f} % of other draws of passages, and of seeds where there are several. With one seed, "
        "the brackets say nothing about another training.",
    )
    figure = (figures.dot_plot_caption(results), dot_plot(results))
    drawn = (figure,) if results["baselines"] else ()
    return Section("Results", text, tuple(score_tables(results)), figures=drawn)


def _differences(results: BenchmarkResults) -> Section | None:
    if not results["differences"]:
        return None
    text = (
        "Both readers answer the same questions, so their difference is surer than their two intervals suggest: read "
        "it here, in percentage points. The bootstrap draws passages and seeds; McNemar's exact test takes questions "
        "as independent and needs one seed. Each p value is for one comparison: of twenty readers that are no better, "
        "one will be below 0.05.",
    )
    rows = tuple(
        (
            Cell(difference["reader"], (f"against {difference['baseline']}",)),
            Cell(METRIC_TITLES[difference["metric"]], (difference["split"],)),
            estimate_cell(difference, sign="+"),
            Cell(format_p_value(difference["p"])),
            Cell(format_p_value(difference["mcnemar_p"])),
        )
        for difference in results["differences"]
    )
    table = Table("", heads("Reader", "Metric", "Difference", "p, bootstrap", "p, McNemar"), rows)
    return Section("Against the baseline", text, (table,))


def _question_types(results: BenchmarkResults) -> Section | None:
    tables = question_type_tables(results)
    text = ("A question of several types counts in each.",)
    return Section("By question type", text, tuple(tables)) if tables else None


def _calibration(results: BenchmarkResults) -> Section | None:
    by_task = {task: calibrations(results, task) for task in results["baselines"]}
    by_task = {task: by_split for task, by_split in by_task.items() if by_split}
    if not by_task:
        return None
    # With one task its name would only repeat itself.
    of_task = {task: f", {task}" if len(results["baselines"]) > 1 else "" for task in by_task}
    places = [(task, split, readers) for task, by_split in by_task.items() for split, readers in by_split.items()]
    return Section(
        "Calibration",
        CALIBRATION_TEXT,
        tuple(
            calibration_table(f"Calibration, {split}{of_task[task]}", "Reader", readers)
            for task, split, readers in places
        ),
        tuple(reliability_table(f"{split}{of_task[task]}", "Reader", readers) for task, split, readers in places),
        tuple(
            (f"Risk against coverage{of_task[task]}.", figures.risk_coverage_curves(by_split))
            for task, by_split in by_task.items()
        ),
    )


def calibrations(results: BenchmarkResults, task: str) -> dict[str, dict[str, Calibration]]:
    """Collect the calibrations of a task's readers, with their accuracy: of spans the share of exact matches.

    Returns:
        Split to reader to calibration, without readers that have none.
    """
    by_split: dict[str, dict[str, Calibration]] = {}
    for name, metrics in scored_readers(results, task).items():
        for split, calibration in metrics.get("calibration", {}).items():
            accuracy = score_of(metrics["splits"][split][EVERYTHING], METRICS[task][0])["mean"]
            by_split.setdefault(split, {})[name] = {"accuracy": accuracy, **calibration}
    return dict(sorted(by_split.items()))


def _training(results: BenchmarkResults) -> Section | None:
    if not any(trial.get("curve") for trial in _trials(results)):
        return None
    text = (
        "One line for each seed. Held-out questions are a part of the training set that was not trained on, apart by "
        "passage; checkpoints are chosen on them.",
    )
    several = len(results["baselines"]) > 1
    drawn = tuple(
        (
            f"Training curves, {task}." if several else "Training curves.",
            figures.training_curves(
                {name: metrics["trials"] for name, metrics in scored_readers(results, task).items()}, task
            ),
        )
        for task in results["baselines"]
    )
    return Section("Training", text, figures=drawn)


def _trials(results: BenchmarkResults) -> Iterator[TrialRecord]:
    for metrics in _metrics_by_reader(results).values():
        yield from metrics["trials"]


def _metrics_by_reader(results: BenchmarkResults) -> dict[str, ReaderMetrics]:
    """Select the metrics of all readers that were run."""
    return {name: entry["metrics"] for name, entry in results["readers"].items() if entry["metrics"] is not None}


def costs_table(results: BenchmarkResults) -> Table:
    """List what the readers cost, those that were not run among them."""
    columns = (
        Cell("Reader"),
        Cell("Seeds"),
        Cell("Parameters", ("trained",)),
        Cell("Training", ("a seed",)),
        Cell("Questions a second", ("in training",)),
        Cell("Peak memory"),
        Cell("Device"),
        Cell("Tagger"),
    )
    rows = tuple((Cell(name), *_cost_cells(entry)) for name, entry in results["readers"].items())
    return Table("", columns, rows)


def _cost_cells(entry: ReaderEntry) -> list[Cell]:
    if entry["metrics"] is None:
        return [Cell(NOT_RUN), *[Cell(NO_VALUE)] * 6]
    # Costs are those of finished trials; failed ones are counted only.
    trials = [trial for trial in entry["metrics"]["trials"] if not trial.get("failure")]
    failed = len(entry["metrics"]["trials"]) - len(trials)
    seeds = ", ".join(str(trial["seed"]) for trial in trials)
    # Devices and taggers may differ between the trials of a reader, so all of them are listed.
    memory = _mean(trial.get("peak_memory_mib") for trial in trials)
    return [
        Cell(str(len(trials)), (*[f"seed {seeds}"] * bool(trials), *[f"{failed} failed"] * bool(failed))),
        Cell(_format(_mean(trial.get("parameters") for trial in trials), "{:,.0f}")),
        Cell(format_duration(_mean(trial.get("seconds") for trial in trials))),
        Cell(_format(_mean(trial.get("questions_per_second") for trial in trials), "{:,.1f}")),
        Cell(_format(memory and memory / MIB_PER_GIB, "{:.1f} GiB")),
        Cell(_distinct(trial.get("device") for trial in trials), (_distinct(t.get("precision") for t in trials),)),
        Cell(_distinct(trial.get("tagger") for trial in trials)),
    ]


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _format(value: float | None, template: str) -> str:
    return NO_VALUE if value is None else template.format(value)


def _distinct(values: Iterable[str | None]) -> str:
    return ", ".join(sorted({value for value in values if value})) or NO_VALUE


def _settings(results: BenchmarkResults) -> Section:
    settings = {name: _settings_of(metrics["trials"]) for name, metrics in _metrics_by_reader(results).items()}
    differing, same = settings_tables(settings)
    if not differing.rows:
        return Section("Settings", ("The readers have no settings that differ.",), folded=(same,))
    return Section("Settings", tables=(differing,), folded=(same,))


def _settings_of(trials: Iterable[TrialRecord]) -> dict[str, str]:
    """Format the settings of the first trial that has any; a reader's trials differ by their seed alone."""
    for trial in trials:
        if "options" in trial:
            encoder = {"encoder": trial["encoder"]} if trial.get("encoder") else {}
            training = {f"training.{name}": value for name, value in trial.get("training", {}).items()}
            return {name: format_setting(value) for name, value in (encoder | trial["options"] | training).items()}
    return {}


def cautions(results: BenchmarkResults) -> Iterator[str]:
    """Say what was left out, what failed and what is too good."""
    # Results of earlier versions do not say which share was scored.
    yield from partial_scoring(results["title"], results.get("scored", 1))
    yield from _warnings(results)
    yield from unmonitored_trials(_trials(results))
    yield _rejections(results["rejected"])
    for name, metrics in _metrics_by_reader(results).items():
        yield from _unscored(name, metrics)
    # Every trial reads the training questions anew.
    unreadable = sum(len(trial.get("unreadable") or ()) for trial in _trials(results))
    if unreadable:
        yield f"{unreadable:,} training questions could not be read and were left out, counted once for each trial."
    for name, metrics in _metrics_by_reader(results).items():
        for trial in metrics["trials"]:
            if trial.get("failure"):
                yield f"{name}, seed {trial['seed']}, failed: {trial['failure']}"
            elif trial.get("selection") == "dev":
                reason = "checkpoints, and for spans the null threshold, were chosen on dev"
                yield f"{name}, seed {trial['seed']}: {reason}, so its dev scores are too good."
    if any(map(_uses_embedded_encoder_for_spans, _metrics_by_reader(results).values())):
        yield ENCODER_NOTE


def _warnings(results: BenchmarkResults) -> Iterator[str]:
    return training_warnings({name: metrics["trials"] for name, metrics in _metrics_by_reader(results).items()})


def _rejections(rejected: RejectedRecords) -> str:
    # The most frequent reasons come first.
    reasons = [f"{count:,} × {reason}" for reason, count in list(rejected["reasons"].items())[:LISTED_REASONS]]
    unlisted = len(rejected["reasons"]) - len(reasons)
    if unlisted:
        reasons.append(f"{unlisted:,} other reasons, see the rejected table")
    return f"Ingestion rejected {rejected['records']:,} records" + (f": {'; '.join(reasons)}." if reasons else ".")


def _unscored(name: str, metrics: ReaderMetrics) -> Iterator[str]:
    for reason, splits in metrics.get("not_scored", {}).items():
        for split, count in splits.items():
            yield f"{name} is not scored on {count:,} questions of {split}: {reason}."
    for reason, count in metrics.get("not_read", {}).items():
        yield f"{name} could not be given {count:,} questions, which count as wrong: {reason}."


def _uses_embedded_encoder_for_spans(metrics: ReaderMetrics) -> bool:
    # Records without an encoder are of the embedded one.
    encoders = (trial.get("encoder", "embedded") for trial in metrics["trials"])
    return metrics["task"] == "span" and "embedded" in encoders
