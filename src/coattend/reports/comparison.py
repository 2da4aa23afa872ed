"""Compare the readers of a benchmark: their metrics, paired tests against a baseline, and the chance level."""

import logging
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads

from coattend.evaluation import alignment, comparison, groups
from coattend.evaluation.groups import EVERYTHING
from coattend.evaluation.records import ReaderMetrics, Score, score_of
from coattend.evaluation.runs import finished, is_outdated
from coattend.evaluation.significance import Difference, covers_seeds, mcnemar_where_independent, paired_test
from coattend.evaluation.summary import METRICS, marks
from coattend.reports.records import BenchmarkResults, ReaderDifference, TestedEstimate

logger = logging.getLogger(__name__)

BASELINE = "plain"
"""Readers of this name, or whose names begin with it and ``_``, are preferred as baselines."""


def compare_readers(
    benchmark: str,
    title: str,
    questions: pads.Dataset,
    rejected: pads.Dataset,
    metrics: Mapping[str, ReaderMetrics | None],
    predictions: Mapping[str, pads.Dataset | None],
) -> BenchmarkResults:
    """Compare a benchmark's readers: one that was not run has no metrics, one without predictions no paired test.

    Readers that were scored on other questions than there are now are left out.
    """
    columns = questions.to_table(columns=groups.COLUMNS)
    outdated = {name for name, scores in metrics.items() if scores is not None and is_outdated(scores, columns)}
    if outdated:
        message = "%s: %s were scored on other questions than there are now, and are left out: evaluate them again"
        logger.warning(message, benchmark, ", ".join(sorted(outdated)))
    metrics = {name: None if name in outdated else scores for name, scores in metrics.items()}
    scored = {name: scores for name, scores in metrics.items() if scores is not None and scores["splits"]}
    baselines = _baselines(scored)
    reasons = Counter(rejected.to_table(columns=["reason"])["reason"].to_pylist())
    # Only the number of options is needed, not their texts.
    option_count = pc.list_value_length(questions.to_table(columns=["options"])["options"])
    return {
        "benchmark": benchmark,
        "title": title,
        "unit": "percent",
        "readers": {
            name: {"status": "outdated" if name in outdated else _status(scores), "metrics": scores}
            for name, scores in metrics.items()
        },
        "baselines": baselines,
        "chance": _chance(columns.append_column("option_count", option_count), baselines),
        "differences": _corrected(list(_differences(columns, scored, predictions, baselines))),
        "rejected": {"records": reasons.total(), "reasons": dict(reasons.most_common())},
    }


def tested_estimate(difference: Difference) -> TestedEstimate:
    """Write a tested difference as a record."""
    return {"mean": difference.mean, "low": difference.low, "high": difference.high, "p": difference.p}


def scored_readers(results: BenchmarkResults, task: str) -> dict[str, ReaderMetrics]:
    """Select the metrics of the readers that were scored on a task, its baseline first."""
    scored = {
        name: entry["metrics"]
        for name, entry in results["readers"].items()
        if entry["status"] == "scored" and entry["metrics"] is not None and entry["metrics"]["task"] == task
    }
    baseline = results["baselines"][task]
    return {baseline: scored[baseline]} | scored


def scores_on(readers: Mapping[str, ReaderMetrics], split: str, metric: str) -> dict[str, Score]:
    """Select each reader's score on all questions of a split, of those that were scored on it."""
    return {
        name: score_of(metrics["splits"][split][EVERYTHING], metric)
        for name, metrics in readers.items()
        if split in metrics["splits"]
    }


def _status(metrics: ReaderMetrics | None) -> Literal["scored", "failed", "not run"]:
    if metrics is None:
        return "not run"
    return "scored" if metrics["splits"] else "failed"


def _baselines(scored: Mapping[str, ReaderMetrics]) -> dict[str, str]:
    """Choose the baseline of each task: the plain reader, else the first that was run."""
    baselines: dict[str, str] = {}
    # The plain reader sorts first, then its variations, then all others in their order.
    for name in sorted(scored, key=lambda name: (name != BASELINE, not name.startswith(f"{BASELINE}_"))):
        baselines.setdefault(scored[name]["task"], name)
    return baselines


def _chance(questions: pa.Table, tasks: Collection[str]) -> dict[str, dict[str, dict[str, float]]]:
    """Score guessing: an option at random; for spans, "no answer" to every question."""
    chance: dict[str, dict[str, dict[str, float]]] = {}
    for task in tasks:
        in_task, _ = groups.scored_questions(questions, task)
        hits = ~in_task["answerable"].to_numpy() if task == "span" else 1 / in_task["option_count"].to_numpy()
        chance[task] = {
            split: {
                name: 100 * float(hits[group].mean()) for name, group in groups.within(rows, groups.subsets(in_task))
            }
            for split, rows in groups.members(in_task["split"]).items()
        }
    return chance


def _corrected(differences: list[ReaderDifference]) -> list[ReaderDifference]:
    """Add p values that are corrected for how many readers are compared on a split by a metric."""
    families: dict[tuple[str, str, str], list[ReaderDifference]] = {}
    for difference in differences:
        families.setdefault((difference["task"], difference["split"], difference["metric"]), []).append(difference)
    for family in families.values():
        corrected = comparison.corrected([difference["p"] for difference in family])
        for difference, p_value in zip(family, corrected, strict=True):
            difference["p_corrected"] = p_value
    return differences


def _differences(
    questions: pa.Table,
    scored: Mapping[str, ReaderMetrics],
    predictions: Mapping[str, pads.Dataset | None],
    baselines: Mapping[str, str],
) -> Iterator[ReaderDifference]:
    """Test every reader against the baseline of its task, split by split."""
    for task, baseline in baselines.items():
        # Predictions may be missing although the metrics are there: then there is no paired test.
        baseline_predictions = predictions.get(baseline)
        if baseline_predictions is None:
            continue
        in_task, _ = groups.scored_questions(questions, task)
        # Questions that hang together are one unit.
        units, splits = groups.group_numbers(in_task), groups.members(in_task["split"])
        baseline_answers = _align(baseline_predictions, in_task, scored[baseline])
        for name, metrics in scored.items():
            reader_predictions = predictions.get(name)
            if metrics["task"] != task or name == baseline or reader_predictions is None:
                continue
            answers = _align(reader_predictions, in_task, metrics)
            for split in sorted(metrics["splits"].keys() & scored[baseline]["splits"].keys()):
                rows = splits[split]
                for metric in METRICS[task]:
                    reader_marks, baseline_marks = (
                        marks(side, metric)[:, rows] for side in (answers, baseline_answers)
                    )
                    difference = paired_test(100 * reader_marks, 100 * baseline_marks, units[rows])
                    # McNemar's test needs answers that are right or wrong, and one trial of each reader.
                    testable = metric != "f1" and len(reader_marks) == len(baseline_marks) == 1
                    yield {
                        "task": task,
                        "split": split,
                        "metric": metric,
                        "reader": name,
                        "baseline": baseline,
                        **tested_estimate(difference),
                        "p_corrected": None,
                        "over_seeds": covers_seeds(len(reader_marks), len(baseline_marks)),
                        "mcnemar_p": mcnemar_where_independent(reader_marks[0] > 0, baseline_marks[0] > 0, units[rows])
                        if testable
                        else None,
                    }


def _align(predictions: pads.Dataset, questions: pa.Table, metrics: ReaderMetrics) -> alignment.Answers:
    """Align the predictions of finished trials with the questions."""
    trial_ids = [trial["trial_id"] for trial in finished(metrics["trials"])]
    return alignment.align(predictions.to_table(columns=alignment.COLUMNS), questions["question_id"], trial_ids)
