"""Tables of the readers' scores: by split, subset and metric, and by question type."""

from collections.abc import Mapping

from coattend.evaluation.groups import EVERYTHING
from coattend.evaluation.records import Groups, GroupScores, ReaderMetrics, metric_of
from coattend.evaluation.summary import METRICS
from coattend.reports.records import BenchmarkResults
from coattend.reports.tables import METRIC_TITLES, NO_VALUE, Cell, Table, estimate_cell


def scored_readers(results: BenchmarkResults, task: str) -> dict[str, ReaderMetrics]:
    """Select the metrics of the readers that were scored on a task, its baseline first."""
    scored = {
        name: entry["metrics"]
        for name, entry in results["readers"].items()
        if entry["status"] == "scored" and entry["metrics"] is not None and entry["metrics"]["task"] == task
    }
    baseline = results["baselines"][task]
    return {baseline: scored[baseline]} | scored


def score_tables(results: BenchmarkResults) -> list[Table]:
    """List each task's readers by split, subset and metric."""
    return [
        _score_table(
            _task_title(results, task),
            task,
            {name: metrics["splits"] for name, metrics in scored_readers(results, task).items()},
        )
        for task in results["baselines"]
    ]


def question_type_tables(results: BenchmarkResults) -> list[Table]:
    """List each task's readers by question type, a table for each split."""
    tables = []
    for task in results["baselines"]:
        readers = {name: metrics["question_types"] for name, metrics in scored_readers(results, task).items()}
        for split in dict.fromkeys(split for by_split in readers.values() for split in by_split):
            # The caption names the split, so that the heads do not.
            types = {name: {"": by_split[split]} for name, by_split in readers.items() if split in by_split}
            tables.append(_score_table(_task_title(results, task, split), task, types))
    return tables


def _score_table(caption: str, task: str, readers: Mapping[str, Mapping[str, Groups]]) -> Table:
    """List readers by (split, group, metric).

    Args:
        caption: The table's caption.
        task: Task of the readers.
        readers: Reader to split to group to metrics.
    """
    groups = {
        (split, group): scores
        for by_split in readers.values()
        for split, by_group in by_split.items()
        for group, scores in by_group.items()
    }
    # Of each split all questions come first, then its subsets.
    in_order = sorted(groups, key=lambda key: (key[0], key[1] != EVERYTHING, key[1]))
    # A metric that no reader has, such as one of answerability, has no column.
    columns = [
        (split, group, metric)
        for split, group in in_order
        for metric in _metrics_of_group(task, group)
        if any(metric_of(_group(by_split, split, group), metric) is not None for by_split in readers.values())
    ]
    titles = [_column_head(task, split, group, metric, groups[split, group]) for split, group, metric in columns]
    rows = tuple(
        (Cell(name), *(_score_cell(_group(by_split, split, group), metric) for split, group, metric in columns))
        for name, by_split in readers.items()
    )
    return Table(caption, (Cell("Reader"), *titles), rows)


def _group(by_split: Mapping[str, Groups], split: str, group: str) -> GroupScores | None:
    return by_split.get(split, {}).get(group)


def _metrics_of_group(task: str, group: str) -> list[str]:
    """List the metrics of a group's columns; only whole splits of spans have all."""
    of_spans = ["has_answer_f1", "no_answer_f1", "no_answer_share", "answerability_auroc", "oracle_f1"]
    return [*METRICS[task], *(of_spans if task == "span" and group == EVERYTHING else [])]


def _column_head(task: str, split: str, group: str, metric: str, scores: GroupScores) -> Cell:
    answerable = scores.get("answerable", scores["questions"])
    # Metrics of questions with or without an answer count these only.
    counts = {"has_answer_f1": answerable, "no_answer_f1": scores["questions"] - answerable}
    questions = f"{counts.get(metric, scores['questions']):,} questions"
    name = ", ".join(filter(None, (split, "" if group == EVERYTHING else group)))
    return Cell(name, (questions,)) if len(METRICS[task]) == 1 else Cell(METRIC_TITLES[metric], (name, questions))


def _score_cell(scores: GroupScores | None, metric: str) -> Cell:
    score = metric_of(scores, metric)
    if scores is None or score is None:
        return Cell(NO_VALUE)
    if isinstance(score, float | int):
        return Cell(f"{score:.1f}")
    # Missing predictions count as wrong, so their number explains a low score.
    std = "" if score["spread"] is None else f"± {score['spread']:.1f}, {len(score['seeds'])} seeds"
    return estimate_cell(score, std, f"{scores['missing']:,} missing" if scores["missing"] else "")


def _task_title(results: BenchmarkResults, task: str, split: str = "") -> str:
    """Name a table's metrics and split; its task only where there are several."""
    metrics = " and ".join(METRIC_TITLES[metric] for metric in METRICS[task])
    return ", ".join(filter(None, (metrics, split, task if len(results["baselines"]) > 1 else "")))
