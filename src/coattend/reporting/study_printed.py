"""The numbers that a paper printed for a study's variants, by the places that they belong to."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from coattend.evaluation.groups import EVERYTHING
from coattend.reporting.tables import Cell

SCORES = {"exact": "exact_match", "f1": "f1", "accuracy": "accuracy"}
"""What papers' scores are called in study files, by our metrics; the last that a task has is what it is judged by."""

QUANTITIES = {
    "parameters_millions": "Parameters, millions",
    "minutes_per_epoch": "Minutes for an epoch",
    "boundary_pos": "Boundary words",
    "boundary_pos_wrong": "Boundary words with a wrong part of speech",
}
"""What else papers print, by its name in study files, and what it is called."""

Place = tuple[str, str, str, str, str]
"""Variant, benchmark, split, group and metric."""

Printed = dict[str, Any]
"""``value``, ``encoder`` and ``ensemble``; ``checkpoints``, where it is the best of so many that are printed."""


def by_place(blocks: Iterable[Mapping[str, Any]], benchmarks: Sequence[str]) -> dict[Place, list[Printed]]:
    """All printed scores.

    Args:
        blocks: A study's ``printed``, as data.
        benchmarks: The study's.
    """
    found: dict[Place, list[Printed]] = {}
    for block in blocks:
        alike = {"encoder": block["encoder"], "ensemble": block["ensemble"]}
        for variant, numbers in block["numbers"].items():
            for benchmark in benchmarks:
                for name, cell in numbers.get(benchmark, {}).items():
                    if name in QUANTITIES:
                        continue
                    split, _, group = name.partition("/")
                    scores, chosen = _best(cell)
                    for metric, value in scores.items():
                        place = (variant, benchmark, split, group or EVERYTHING, metric)
                        found.setdefault(place, []).append(alike | {"value": value} | chosen)
    return found


def label(one: Printed) -> str:
    """Whose number it is."""
    return f"{one['encoder']}, ensemble" if one["ensemble"] else str(one["encoder"])


def cell(one: Printed) -> Cell:
    """The number as it stands in a table."""
    return Cell(f"{one['value']:g}", _notes(one))


def columns(row: Sequence[Printed]) -> dict[str, Any]:
    """The numbers of a row of results as columns of a table.

    Returns:
        ``printed`` and ``printed_encoder``: the first that is not an ensemble's; ``printed_all``: all of them with
        whose they are, in words. None where there is none.
    """
    single = next((one for one in row if not one["ensemble"]), {"value": None, "encoder": None})
    told = [f"{one['value']:g} ({', '.join((label(one), *_notes(one)))})" for one in row]
    return {
        "printed": single["value"],
        "printed_encoder": single["encoder"],
        "printed_all": "; ".join(told) or None,
    }


def _best(cell: Any) -> tuple[dict[str, float], dict[str, int]]:
    """A cell's scores; where it is printed step by step those of the best step, since papers keep that checkpoint."""
    by_step = isinstance(cell, dict) and bool(cell) and all(str(key).isdigit() for key in cell)
    if not by_step:
        return _scores(cell), {}
    best = max(map(_scores, cell.values()), key=lambda scores: list(scores.values())[-1:])
    return best, {"checkpoints": len(cell)}


def _scores(cell: Any) -> dict[str, float]:
    """Scores by our metrics; a number alone is an accuracy."""
    if not isinstance(cell, dict):
        return {"accuracy": float(cell)}
    return {ours: float(cell[theirs]) for ours, theirs in SCORES.items() if cell.get(theirs) is not None}


def _notes(one: Printed) -> tuple[str, ...]:
    return (f"best of {one['checkpoints']} printed checkpoints",) if "checkpoints" in one else ()
