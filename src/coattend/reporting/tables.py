"""The page's tables: which numbers stand where. How they look is the renderers' business."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from coattend.evaluation.groups import EVERYTHING
from coattend.evaluation.scoring import METRICS

NONE = "–"
LABELS = {
    "accuracy": "Accuracy",
    "exact": "Exact match",
    "f1": "F1",
    "has_answer_f1": "F1 where there is an answer",
    "no_answer_f1": "F1 where there is none",
    "oracle_f1": "F1 with the best threshold (oracle)",
    "no_answer_share": "Answers “none”",
    "answerability_auroc": "Answerability AUROC",
}
"""What each metric is called on a page."""


@dataclass(frozen=True)
class Cell:
    """A value, and in small print what belongs to it, line by line."""

    text: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Table:
    """Rows of cells under column heads; the first column names the row.

    Attributes:
        caption: What it shows; may be empty.
        columns: The heads.
        rows: As many cells as heads each.
        aligned: Whether columns of numbers stand to the right.
        quiet: Whether it stands back behind the others: what was not measured here.
    """

    caption: str
    columns: tuple[Cell, ...]
    rows: tuple[tuple[Cell, ...], ...]
    aligned: bool = True
    quiet: bool = False


def scores(results: dict[str, Any]) -> list[Table]:
    """For each task a table of readers by split, subset and metric.

    Args:
        results: What `coattend.reporting.comparison.compare` returned.
    """
    return [
        _scores(_title(task, results), task, {name: given["splits"] for name, given in scored(results, task).items()})
        for task in results["baselines"]
    ]


def by_type(results: dict[str, Any]) -> list[Table]:
    """For each task and split a table of readers by question type.

    Args:
        results: What `coattend.reporting.comparison.compare` returned.
    """
    tables = []
    for task in results["baselines"]:
        readers = {name: given["question_types"] for name, given in scored(results, task).items()}
        for split in _in_order(readers.values()):
            shown = {name: {"": given[split]} for name, given in readers.items() if split in given}
            tables.append(_scores(_title(task, results, split), task, shown))
    return tables


def scored(results: dict[str, Any], task: str) -> dict[str, dict[str, Any]]:
    """The metrics of the readers that were scored on a task, its baseline first."""
    given = {
        name: entry["metrics"]
        for name, entry in results["readers"].items()
        if entry["status"] == "scored" and entry["metrics"]["task"] == task
    }
    baseline = results["baselines"][task]
    return {baseline: given[baseline]} | given


def _scores(caption: str, task: str, readers: dict[str, dict[str, dict[str, Any]]]) -> Table:
    """Columns are (split, group, metric); ``readers`` maps a reader to its splits to their groups to the metrics."""
    places = {
        (split, group): found
        for splits in readers.values()
        for split, groups in splits.items()
        for group, found in groups.items()
    }
    columns = [
        (split, group, metric)
        for split, group in sorted(places, key=_place)
        for metric in _shown(task, group)
        if any(splits.get(split, {}).get(group, {}).get(metric) is not None for splits in readers.values())
    ]
    heads = [_head(task, *column, places[column[:2]]) for column in columns]
    rows = [
        (Cell(name), *(_score(splits.get(split, {}).get(group), metric) for split, group, metric in columns))
        for name, splits in readers.items()
    ]
    return Table(caption, (Cell("Reader"), *heads), tuple(rows))


def _place(column: tuple[str, str]) -> tuple[str, bool, str]:
    split, group = column
    return split, group != EVERYTHING, group


def _shown(task: str, group: str) -> list[str]:
    further = ["has_answer_f1", "no_answer_f1", "no_answer_share", "answerability_auroc", "oracle_f1"]
    return METRICS[task] + (further if task == "span" and group == EVERYTHING else [])


def _head(task: str, split: str, group: str, metric: str, found: dict[str, Any]) -> Cell:
    answerable = found.get("answerable", found["questions"])
    parts = {"has_answer_f1": answerable, "no_answer_f1": found["questions"] - answerable}
    count = parts.get(metric, found["questions"])
    name = ", ".join([*([split] if split else []), *([group] if group != EVERYTHING else [])])
    if len(METRICS[task]) == 1:
        return Cell(name, (f"{count:,} questions",))
    return Cell(LABELS[metric], (name, f"{count:,} questions"))


def _score(group: dict[str, Any] | None, metric: str) -> Cell:
    value = None if group is None else group.get(metric)
    if value is None:
        return Cell(NONE)
    if not isinstance(value, dict):
        return Cell(f"{value:.1f}")
    spread = "" if value["spread"] is None else f"± {value['spread']:.1f}, {len(value['seeds'])} seeds"
    return measured(value, spread, f"{group['missing']:,} missing" if group["missing"] else "")


def _title(task: str, results: dict[str, Any], split: str = "") -> str:
    """What a table is about; the task only where there are several."""
    metrics = " and ".join(LABELS[metric] for metric in METRICS[task])
    return ", ".join([metrics, *([split] if split else []), *([task] if len(results["baselines"]) > 1 else [])])


def bracket(value: Mapping[str, Any], sign: str = "") -> str:
    """An interval as ``[low, high]``; empty where there is none."""
    if value["low"] is None:
        return ""
    return f"[{value['low']:{sign}.1f}, {value['high']:{sign}.1f}]"


def measured(value: Mapping[str, Any], *notes: str, sign: str = "") -> Cell:
    """A mean with its interval in small print, and with further notes that are not empty."""
    return Cell(f"{value['mean']:{sign}.1f}", tuple(filter(None, (bracket(value, sign), *notes))))


def place(split: str, group: str) -> str:
    """Where something was measured: a split, or a group of its questions."""
    return split if group == EVERYTHING else f"{split}, {group}"


def differences(results: dict[str, Any]) -> Table:
    """Each reader against its task's baseline, in percentage points."""
    heads = ("Reader", "Metric", "Difference", "p, bootstrap", "p, McNemar")
    rows = [
        (
            Cell(found["reader"], (f"against {found['baseline']}",)),
            Cell(LABELS[found["metric"]], (found["split"],)),
            measured(found, sign="+"),
            Cell(probability(found["p"])),
            Cell(probability(found["mcnemar_p"])),
        )
        for found in results["differences"]
    ]
    return Table("", tuple(map(Cell, heads)), tuple(rows))


def probability(p: float | None) -> str:
    """A p value with three digits."""
    if p is None:
        return NONE
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def _in_order(mappings: Iterable[dict[str, Any]]) -> list[str]:
    return list({name: None for mapping in mappings for name in mapping})
