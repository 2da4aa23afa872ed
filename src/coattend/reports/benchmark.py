"""The page of a benchmark: its readers' scores, calibration, training, costs and settings, compared."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, starmap

from coattend.evaluation.groups import EVERYTHING
from coattend.evaluation.intervals import LEVEL
from coattend.evaluation.records import (
    Calibration,
    Groups,
    GroupScores,
    ReaderMetrics,
    Score,
    TrialRecord,
    metric_of,
    score_of,
)
from coattend.evaluation.runs import finished, training_benchmark
from coattend.evaluation.summary import METRICS
from coattend.reports import figures, provenance, sections, tables
from coattend.reports.comparison import scored_readers, scores_on
from coattend.reports.records import BenchmarkResults, ReaderDifference, RejectedRecords
from coattend.reports.render import Section
from coattend.reports.tables import METRIC_TITLES, NO_VALUE, Cell, Table, TableRow, estimate_cell

MIB_PER_GIB = 1024
SPAN_METRICS = ("has_answer_f1", "no_answer_f1", "no_answer_share", "answerability_auroc", "oracle_f1")
LISTED_REASONS = 5
"""Reasons of rejections that are listed; the rejected table has all."""


def benchmark_sections(results: BenchmarkResults) -> list[Section]:
    """Write the sections of a comparison of readers."""
    candidates = [
        _summary(results),
        _scores(results),
        _differences(results),
        _question_types(results),
        _calibration(results),
        _training(results),
        Section("Costs", tables=(costs_table(results),)) if _metrics_by_reader(results) else None,
        _settings(results),
        Section("What to keep in mind", tuple(cautions(results))),
    ]
    return [section for section in candidates if section is not None]


def _summary(results: BenchmarkResults) -> Section:
    describe = _ranges if results.get("simulated") else _leaders
    leaders = [sentence for task in results["baselines"] for sentence in describe(results, task)]
    if results.get("simulated") and leaders:
        leaders.append("The texts are generated: scores show that readers learn to read them, and rank none.")
    text = [*_selection(results), *(leaders or ["No reader has been scored yet."])]
    # Readers without scores are named, so that none seems to be missing.
    by_status: dict[str, list[str]] = {}
    for name, entry in results["readers"].items():
        by_status.setdefault(entry["status"], []).append(name)
    if failed := by_status.get("failed"):
        text.append(f"Failed in every trial: {', '.join(failed)}.")
    if outdated := by_status.get("outdated"):
        names = ", ".join(outdated)
        text.append(
            f"Scored on other questions than there are now, and left out until they are evaluated again: {names}."
        )
    text += sections.divided_dev(results["title"], results.get("train_from_dev"))
    text += provenance.version_sentence({results["benchmark"]: results.get("benchmark_version")})
    if any(_warnings(results)):
        text.append("There are warnings, under “What to keep in mind”.")
    not_run = by_status.get("not run", [])
    names = f"Not run: {', '.join(not_run)}."
    readers = "1 reader was" if len(not_run) == 1 else f"{len(not_run)} readers were"
    return Section("In short", tuple(text), more=((f"{readers} not run", names),) if not_run else ())


def _selection(results: BenchmarkResults) -> Iterator[str]:
    trials = {name: metrics["trials"] for name, metrics in _metrics_by_reader(results).items()}
    sources = {name: training_benchmark(metrics) for name, metrics in _metrics_by_reader(results).items()}
    return sections.selection_notes(trials, results["benchmark"], sources)


def _leaders(results: BenchmarkResults, task: str) -> Iterator[str]:
    """Name the best reader of each split, beside chance and the baseline."""
    metric = METRICS[task][-1]
    for split, scores in _scores_by_split(results, task):
        best = max(scores, key=lambda name: scores[name]["mean"])
        # With one group of questions there is no interval.
        score = f"{scores[best]['mean']:.1f} % {tables.format_interval(scores[best])}".strip()
        title = _title_in_text(metric)
        sentence = f"On {_where(results, split, task)}, {best} has the highest {title}: {score}"
        yield f"{sentence}{_versus_chance(results, split, task)}." + _versus_baseline(results, best, split, metric)


def _ranges(results: BenchmarkResults, task: str) -> Iterator[str]:
    """Say between which scores the readers of a split lie, beside chance."""
    for split, scores in _scores_by_split(results, task):
        means = sorted(score["mean"] for score in scores.values())
        title, spread = _title_in_text(METRICS[task][-1]), f"{means[0]:.1f} to {means[-1]:.1f} %"
        score = spread if len(means) > 1 else f"{means[0]:.1f} %"
        yield f"On {_where(results, split, task)}, {title} is {score}{_versus_chance(results, split, task)}."


def _scores_by_split(results: BenchmarkResults, task: str) -> Iterator[tuple[str, dict[str, Score]]]:
    readers = scored_readers(results, task)
    for split in sorted({split for metrics in readers.values() for split in metrics["splits"]}):
        yield split, scores_on(readers, split, METRICS[task][-1])


def _where(results: BenchmarkResults, split: str, task: str) -> str:
    return f"{split} ({task})" if len(results["baselines"]) > 1 else split


def _title_in_text(metric: str) -> str:
    return METRIC_TITLES[metric] if METRIC_TITLES[metric].isupper() else METRIC_TITLES[metric].lower()


def _versus_chance(results: BenchmarkResults, split: str, task: str) -> str:
    chance = results["chance"][task].get(split, {}).get(EVERYTHING, 0.0)
    return f"; {figures.CHANCE[task]} scores {chance:.1f} %" if chance else ""


def _versus_baseline(results: BenchmarkResults, reader: str, split: str, metric: str) -> str:
    for difference in results["differences"]:
        if (difference["reader"], difference["split"], difference["metric"]) == (reader, split, metric):
            return (
                f" Against {difference['baseline']} that is {difference['mean']:+.1f} points{_certainty(difference)}."
            )
    return ""


def _certainty(difference: ReaderDifference) -> str:
    """Say how sure the best reader's difference is; the best of several has the smallest p of as many."""
    p_corrected = difference.get("p_corrected")
    if p_corrected is None:
        return ", of which nothing more can be told"
    seeds = "" if difference.get("over_seeds") else ", for these seeds"
    return f", p\u00a0{tables.p_value_in_text(p_corrected)} after a correction for the number of readers (Holm){seeds}"


def _scores(results: BenchmarkResults) -> Section:
    text = (
        "Percent of all questions of a split; a missing answer counts as wrong. In brackets: where the number would "
        f"lie for {100 * LEVEL:.0f} % of other samples of questions, where those about passages that overlap "
        "come as a group, and of seeds where there are several. With one seed, the brackets say nothing about another "
        "training; with two, hardly anything.",
    )
    drawn = ((figures.dot_plot_caption(results), figures.dot_plot(results)),) if results["baselines"] else ()
    return Section("Results", text, tuple(score_tables(results)), figures=drawn)


def score_tables(results: BenchmarkResults) -> list[Table]:
    """List each task's readers by split, subset and metric."""
    listed = []
    for task in results["baselines"]:
        readers = {name: metrics["splits"] for name, metrics in scored_readers(results, task).items()}
        listed.append(_score_table(_task_title(results, task), task, readers))
    return listed


def _score_table(caption: str, task: str, readers: Mapping[str, Mapping[str, Groups]]) -> Table:
    """List readers by (split, group, metric); ``readers`` map each to splits, groups and metrics."""
    groups = {(split, group) for splits in readers.values() for split in splits for group in splits[split]}
    columns = []
    # Of each split all questions come first, then its subsets.
    for split, group in sorted(groups, key=lambda key: (key[0], key[1] != EVERYTHING, key[1])):
        scores = {name: splits[split][group] for name, splits in readers.items() if group in splits.get(split, {})}
        # Only whole splits of spans have all metrics.
        for metric in (*METRICS[task], *(SPAN_METRICS if task == "span" and group == EVERYTHING else ())):
            cells = {
                name: _score_cell(scores[name], value)
                for name in scores
                if (value := metric_of(scores[name], metric)) is not None
            }
            # A metric that no reader has, such as one of answerability, has no column.
            if cells:
                columns.append((_column_head(task, split, group, metric, next(iter(scores.values()))), cells))
    return Table.of_columns(caption, "Reader", columns, {name: name for name in readers})


def _column_head(task: str, split: str, group: str, metric: str, scores: GroupScores) -> Cell:
    answerable = scores.get("answerable", scores["questions"])
    # Metrics of questions with or without an answer count these only.
    counts = {"has_answer_f1": answerable, "no_answer_f1": scores["questions"] - answerable}
    questions = f"{counts.get(metric, scores['questions']):,} questions"
    name = ", ".join(filter(None, (split, "" if group == EVERYTHING else group)))
    return Cell(name, (questions,)) if len(METRICS[task]) == 1 else Cell(METRIC_TITLES[metric], (name, questions))


def _score_cell(scores: GroupScores, value: Score | float) -> Cell:
    if isinstance(value, float | int):
        return Cell(f"{value:.1f}")
    # Missing predictions count as wrong, so their number explains a low score.
    return estimate_cell(value, sections.std_note(value), f"{scores['missing']:,} missing" if scores["missing"] else "")


def _task_title(results: BenchmarkResults, task: str, split: str = "") -> str:
    """Name a table's metrics and split; its task only where there are several."""
    metrics = " and ".join(METRIC_TITLES[metric] for metric in METRICS[task])
    return ", ".join(filter(None, (metrics, split, task if len(results["baselines"]) > 1 else "")))


def _differences(results: BenchmarkResults) -> Section | None:
    if not results["differences"]:
        return None
    text = (
        "Both readers answer the same questions, so their difference is surer than their two intervals suggest: read "
        "it here, in percentage points. The p value is that of a sign-flip test over groups of questions, exact for "
        "few groups, and of Student's test over seeds where both readers have several; without an interval, the groups "
        "are too few for one. Each p value is for one comparison: of twenty readers that are no better, one will be "
        "below 0.05. The corrected one allows for the number of readers (Holm). McNemar's exact test needs independent "
        "questions and one seed.",
    )
    rows: Iterator[TableRow] = (
        {
            "Reader": Cell(difference["reader"], (f"against {difference['baseline']}",)),
            "Metric": Cell(METRIC_TITLES[difference["metric"]], (difference["split"],)),
            "Difference": estimate_cell(
                difference, "" if difference.get("over_seeds", True) else "for these seeds", sign="+"
            ),
            "p": tables.format_p_value(difference["p"]),
            "p, corrected": tables.format_p_value(difference.get("p_corrected")),
            "p, McNemar": tables.format_p_value(difference["mcnemar_p"]),
        }
        for difference in results["differences"]
    )
    return Section("Against the baseline", text, (Table.of("", rows),))


def _question_types(results: BenchmarkResults) -> Section | None:
    """List each task's readers by question type, a table for each split."""
    listed = []
    for task in results["baselines"]:
        readers = {name: metrics["question_types"] for name, metrics in scored_readers(results, task).items()}
        for split in dict.fromkeys(split for by_split in readers.values() for split in by_split):
            # The caption names the split, so that the heads do not.
            types = {name: {"": by_split[split]} for name, by_split in readers.items() if split in by_split}
            listed.append(_score_table(_task_title(results, task, split), task, types))
    text = ("A question of several types counts in each.",)
    return Section("By question type", text, tuple(listed)) if listed else None


def _calibration(results: BenchmarkResults) -> Section | None:
    scores, tenths, curves = [], [], []
    for task in results["baselines"]:
        by_split, of_task = calibrations(results, task), _of_task(results, task)
        for split, readers in by_split.items():
            scores.append(sections.calibration_table(f"Calibration, {split}{of_task}", "Reader", readers))
            tenths.append(sections.reliability_table(f"{split}{of_task}", "Reader", readers))
        if by_split:
            curves.append((f"Risk against coverage{of_task}.", figures.risk_coverage_curves(by_split)))
    if not scores:
        return None
    return Section("Calibration", sections.CALIBRATION_TEXT, tuple(scores), tuple(tenths), tuple(curves))


def _of_task(results: BenchmarkResults, task: str) -> str:
    """Name the task at the end of a caption; with one task its name would only repeat itself."""
    return f", {task}" if len(results["baselines"]) > 1 else ""


def calibrations(results: BenchmarkResults, task: str) -> dict[str, dict[str, Calibration]]:
    """Collect split to reader to calibration, with its accuracy: of spans the share of exact matches."""
    by_split: dict[str, dict[str, Calibration]] = {}
    for name, metrics in scored_readers(results, task).items():
        for split, calibration in metrics.get("calibration", {}).items():
            accuracy = score_of(metrics["splits"][split][EVERYTHING], METRICS[task][0])["mean"]
            by_split.setdefault(split, {})[name] = {"accuracy": accuracy, **calibration}
    return dict(sorted(by_split.items()))


def _training(results: BenchmarkResults) -> Section | None:
    if not any(trial.get("curve") for trial in _trials(results)):
        return None
    drawn = []
    for task in results["baselines"]:
        trials = {name: metrics["trials"] for name, metrics in scored_readers(results, task).items()}
        drawn.append((f"Training curves{_of_task(results, task)}.", figures.training_curves(trials, task)))
    return Section("Training", (sections.curve_text(_trials(results)),), figures=tuple(drawn))


def _trials(results: BenchmarkResults) -> Iterator[TrialRecord]:
    return chain.from_iterable(metrics["trials"] for metrics in _metrics_by_reader(results).values())


def _metrics_by_reader(results: BenchmarkResults) -> dict[str, ReaderMetrics]:
    """Select the metrics of all readers that were run."""
    return {name: entry["metrics"] for name, entry in results["readers"].items() if entry["metrics"] is not None}


def costs_table(results: BenchmarkResults) -> Table:
    """List what the readers that were run cost."""
    notes = {"Parameters": "trained", "Training": "per seed", "Questions per second": "in training"}
    return Table.of("", starmap(_cost_row, _metrics_by_reader(results).items()), notes=notes)


def _cost_row(name: str, metrics: ReaderMetrics) -> TableRow:
    all_trials = metrics["trials"]
    # Costs are those of finished trials; failed ones are counted only.
    trials = finished(all_trials)
    failed = len(all_trials) - len(trials)
    seeds = f"seed {', '.join(str(trial['seed']) for trial in trials)}" if trials else ""
    # A language model as it is has learned nothing here; its time is that of its answers.
    trained = all(trial.get("trained", True) for trial in trials)
    duration = tables.format_duration(_mean(trial.get("seconds") for trial in trials))
    parameters = _format(_mean(trial.get("parameters") for trial in trials), "{:,.0f}")
    speed = _format(_mean(trial.get("questions_per_second") for trial in trials), "{:,.1f}")
    memory = _mean(trial.get("peak_memory_mib") for trial in trials)
    device = _distinct(trial.get("device") for trial in trials)
    precision = _distinct(trial.get("precision") for trial in trials)
    hosts = ", ".join(sorted(set(filter(None, map(provenance.host, trials)))))
    # Devices and taggers may differ between the trials of a reader, so all of them are listed.
    return {
        "Reader": name,
        "Seeds": tables.noted_cell(str(len(trials)), seeds, f"{failed} failed" if failed else ""),
        "Parameters": parameters if trained else tables.noted_cell("0", f"of {parameters}"),
        "Training": duration if trained else tables.noted_cell("none", f"{duration} for all answers"),
        "Questions per second": speed if trained else tables.noted_cell(speed, "answered"),
        "Peak memory": _format(memory and memory / MIB_PER_GIB, "{:.1f} GiB"),
        "Device": tables.noted_cell(device, hosts, precision),
        "Tagger": _distinct(trial.get("tagger") for trial in trials),
    }


def _mean(values: Iterable[float | None]) -> float | None:
    measured = [value for value in values if value is not None]
    return sum(measured) / len(measured) if measured else None


def _format(value: float | None, template: str) -> str:
    return NO_VALUE if value is None else template.format(value)


def _distinct(values: Iterable[str | None]) -> str:
    return ", ".join(sorted({value for value in values if value})) or NO_VALUE


def _settings(results: BenchmarkResults) -> Section:
    settings = {name: _settings_of(metrics["trials"]) for name, metrics in _metrics_by_reader(results).items()}
    differing, same = tables.settings_tables(settings)
    if not differing.rows:
        return Section("Settings", ("The readers have no settings that differ.",), folded=(same,))
    return Section("Settings", tables=(differing,), folded=(same,))


def _settings_of(trials: Iterable[TrialRecord]) -> dict[str, str]:
    """Format the settings of the first trial that has any; a reader's trials differ by their seed alone."""
    for trial in trials:
        if "options" in trial:
            encoder = {"encoder": trial["encoder"]} if trial.get("encoder") else {}
            training = {f"training.{name}": value for name, value in trial.get("training", {}).items()}
            return {
                name: tables.format_setting(value) for name, value in (encoder | trial["options"] | training).items()
            }
    return {}


def cautions(results: BenchmarkResults) -> Iterator[str]:
    """Say what was left out, what failed and what is too good."""
    # Results of earlier versions do not say which share was scored.
    yield from sections.partial_scoring(results["title"], results.get("scored", 1))
    yield from _warnings(results)
    yield from sections.unmonitored_trials(_trials(results))
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
    notes = (
        sections.encoder_notes(sections.encoders_of(metrics["trials"]), spans=metrics["task"] == "span")
        for metrics in _metrics_by_reader(results).values()
    )
    yield from dict.fromkeys(chain.from_iterable(notes))


def _warnings(results: BenchmarkResults) -> Iterator[str]:
    return sections.training_warnings(
        {name: metrics["trials"] for name, metrics in _metrics_by_reader(results).items()}
    )


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
