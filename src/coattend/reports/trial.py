"""The page of one trial: its scores, settings, costs and warnings."""

from collections.abc import Iterator, Mapping
from typing import cast

from coattend.evaluation.records import ReaderMetrics, Score, TrialRecord
from coattend.evaluation.runs import training_benchmark
from coattend.evaluation.summary import by_name, leading_metric
from coattend.masking import masked
from coattend.reports import provenance, tables
from coattend.reports.render import Section, html_page
from coattend.reports.sections import chosen_on_dev, encoder_notes, encoders_of, training_warnings
from coattend.reports.tables import METRIC_TITLES, Table, TableRow, noted_cell


def trial_scores(metrics: ReaderMetrics, trial: TrialRecord) -> dict[str, float]:
    """Select a trial's own scores from the metrics of its reader, in percent, by their `metric_name`."""
    return {name: metric["seeds"][str(trial["seed"])] for name, metric in by_name(metrics)}


def trial_title(metrics: ReaderMetrics, trial: TrialRecord) -> str:
    """Name a trial by its entry, benchmark and seed."""
    return f"{metrics['reader']} on {metrics['benchmark']}, seed {trial['seed']}"


def score_sentence(scores: Mapping[str, float]) -> str:
    """Say what a trial scores by the metric that counts; empty if it was not scored."""
    name = leading_metric(scores)
    if name is None:
        return ""
    split, _, metric = name.partition(".")
    title = METRIC_TITLES[metric]
    return f"{title} on {split}: {scores[name]:.1f} %."


def render_html(metrics: ReaderMetrics, trial: TrialRecord) -> str:
    """Render the page of a trial."""
    return html_page(trial_title(metrics, trial), trial_sections(metrics, trial))


def trial_sections(metrics: ReaderMetrics, trial: TrialRecord) -> list[Section]:
    """Write the sections of a trial's page."""
    summary = tuple(filter(None, (score_sentence(trial_scores(metrics, trial)), f"Trial {trial['trial_id']}.")))
    settings = masked({"reader": trial.get("variant", ""), "head": trial.get("head", ""), **trial.get("options", {})})
    training = masked({f"training.{name}": value for name, value in trial.get("training", {}).items()})
    rows = [
        {"Setting": name, "Value": tables.format_setting(value)}
        for name, value in (settings | {"encoder": masked(trial.get("encoder", ""))} | training).items()
    ]
    cautions = tuple(_cautions(metrics, trial))
    return [
        Section("In short", summary, (Table.of("", _score_rows(metrics, trial)), Table.of("", [_costs(trial)]))),
        *([Section("What to keep in mind", cautions)] if cautions else []),
        Section("Settings", tables=(Table.of("", rows, aligned=False),)),
    ]


def _score_rows(metrics: ReaderMetrics, trial: TrialRecord) -> Iterator[TableRow]:
    for split, groups in metrics["splits"].items():
        for group, values in groups.items():
            for name, metric in values.items():
                if isinstance(metric, dict):
                    yield _score_row(tables.format_questions(split, group), name, cast("Score", metric), trial["seed"])


def _score_row(questions: str, name: str, score: Score, seed: int) -> TableRow:
    spread = "" if score["spread"] is None else f"± {score['spread']:.1f}"
    interval = tables.format_interval(score)
    return {
        "Questions": noted_cell(questions, METRIC_TITLES.get(name, name)),
        "This trial": f"{score['seeds'][str(seed)]:.1f}",
        "All seeds": noted_cell(f"{score['mean']:.1f}", interval, spread),
    }


def _costs(trial: TrialRecord) -> TableRow:
    duration, parameters = tables.format_duration(trial.get("seconds")), trial.get("parameters")
    speed = trial.get("questions_per_second")
    counted = tables.NO_VALUE if parameters is None else f"{parameters:,}"
    trained = trial.get("trained", True)
    return {
        "Training": duration if trained else noted_cell("none", f"{duration} for all answers"),
        "Questions per second": tables.NO_VALUE if speed is None else f"{speed:,.1f}",
        "Parameters trained": counted if trained else noted_cell("0", f"of {counted}"),
        "Device": provenance.machine(trial) or tables.NO_VALUE,
        "Tagger": trial.get("tagger", tables.NO_VALUE),
    }


def _cautions(metrics: ReaderMetrics, trial: TrialRecord) -> Iterator[str]:
    yield from chosen_on_dev(trial, metrics["benchmark"], training_benchmark(metrics))
    yield from training_warnings({metrics["reader"]: [trial]})
    yield from encoder_notes(encoders_of([trial]), spans=metrics["task"] == "span")
