"""Two trials side by side, as numbers."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from coattend.evaluation.groups import members, passage_numbers, subsets, within
from coattend.evaluation.side_by_side import WINNERS, SideBySide, is_correct
from coattend.evaluation.significance import mcnemar, paired_bootstrap
from coattend.reporting.comparison import METRICS


def contests(given: SideBySide) -> list[dict[str, Any]]:
    """How two trials fare, in each split and in each subset of it.

    Args:
        given: What they answered.

    Returns:
        For each split and group: ``questions``; ``missing``: side to questions without an answer; ``counts``: winner
        to questions; ``mcnemar_p``; ``metrics``: metric to what ``left`` and ``right`` reach, in percent, and to
        ``mean``, ``low``, ``high`` and ``p`` of left less right, in points.
    """
    return list(_contests(given))


def _contests(given: SideBySide) -> Iterator[dict[str, Any]]:
    table, passages = given.table, passage_numbers(given.table)
    winners = members(table["winner"])
    left, right = is_correct(table, "left"), is_correct(table, "right")
    for split, rows in members(table["split"]).items():
        for group, rows_of_group in within(rows, subsets(table)):
            place = {"split": split, "group": group, "questions": int(rows_of_group.sum())}
            yield place | {
                "missing": {side: _missing(table, side, rows_of_group) for side in ("left", "right")},
                "counts": {name: int((winners.get(name, False) & rows_of_group).sum()) for name in WINNERS},
                "mcnemar_p": mcnemar(left[rows_of_group], right[rows_of_group]),
                "metrics": {
                    metric: _difference(*_marks(table, metric, rows_of_group), passages[rows_of_group])
                    for metric in METRICS[given.task]
                },
            }


def _missing(table: pa.Table, side: str, rows: np.ndarray) -> int:
    return int((table[f"{side}_answer"].is_null().to_numpy() & rows).sum())


def _marks(table: pa.Table, metric: str, rows: np.ndarray) -> Iterator[np.ndarray]:
    """What each side reaches, in percent [questions]."""
    for side in ("left", "right"):
        marks = table[f"{side}_mark"].to_numpy() if metric == "f1" else is_correct(table, side)
        yield 100 * marks[rows].astype(float)


def _difference(left: np.ndarray, right: np.ndarray, passages: np.ndarray) -> dict[str, Any]:
    found = paired_bootstrap(left[None], right[None], passages)
    return {"left": float(left.mean()), "right": float(right.mean())} | vars(found)
