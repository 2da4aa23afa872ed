"""The numbers that a paper prints for a study's variants, by what they are of."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import NamedTuple, TypedDict

from coattend.config.study import QUANTITIES
from coattend.evaluation.groups import EVERYTHING
from coattend.reports.records import Numbers, PrintedBlock, PrintedScore
from coattend.reports.tables import Cell, noted_cell

SCORES = {"exact": "exact_match", "f1": "f1", "accuracy": "accuracy"}
"""Metric to its name in study files; the last one that a task has decides which checkpoint is best."""


class ScoreKey(NamedTuple):
    """The variant, questions and metric of a score."""

    variant: str
    benchmark: str
    split: str
    group: str
    metric: str


class PrintedColumns(TypedDict):
    """Printed scores as columns of a table."""

    printed: float | None  # Of the first single reader, as is its encoder.
    printed_encoder: str | None
    printed_all: str | None  # All scores in words.


def printed_numbers(block: PrintedBlock, variant: str, benchmark: str = "") -> Mapping[str, Numbers]:
    """Return the numbers of a variant, or those on a benchmark by split or quantity; empty if there are none."""
    numbers = block["numbers"].get(variant, {})
    return as_mapping(numbers.get(benchmark, {})) if benchmark else numbers


def printed_scores(blocks: Iterable[PrintedBlock], benchmarks: Sequence[str]) -> dict[ScoreKey, list[PrintedScore]]:
    """Collect all printed scores on a study's benchmarks."""
    scores: dict[ScoreKey, list[PrintedScore]] = {}
    for block in blocks:
        for variant, benchmark in product(block["numbers"], benchmarks):
            for name, number in printed_numbers(block, variant, benchmark).items():
                if name in QUANTITIES:
                    continue
                # A name such as test/middle is of a subset.
                split, _, group = name.partition("/")
                by_metric, checkpoints = _best_checkpoint(number)
                for metric, value in by_metric.items():
                    key = ScoreKey(variant, benchmark, split, group or EVERYTHING, metric)
                    score: PrintedScore = {"encoder": block["encoder"], "ensemble": block["ensemble"], "value": value}
                    if checkpoints is not None:
                        score["checkpoints"] = checkpoints
                    scores.setdefault(key, []).append(score)
    return scores


def numbers_by_step(number: Numbers) -> dict[int, Numbers]:
    """Read scores that are printed step by step; empty if they are printed once."""
    by_step = as_mapping(number)
    return {int(step): by_step[step] for step in by_step} if all(str(step).isdigit() for step in by_step) else {}


def as_mapping(number: Numbers) -> Mapping[str, Numbers]:
    """Return nested numbers, or nothing for a single one."""
    return number if isinstance(number, Mapping) else {}


def _best_checkpoint(number: Numbers) -> tuple[dict[str, float], int | None]:
    """Read scores that are printed once, or step by step: then the best step's, and the number of steps."""
    by_step = numbers_by_step(number)
    if not by_step:
        return scores_by_metric(number), None
    # Papers keep the checkpoint that is best by the last metric.
    best = max(map(scores_by_metric, by_step.values()), key=lambda scores: list(scores.values())[-1:])
    return best, len(by_step)


def scores_by_metric(number: Numbers) -> dict[str, float]:
    """Read scores by metric; a bare number is an accuracy."""
    if not isinstance(number, Mapping):
        return {"accuracy": _number(number)}
    scores = {metric: number.get(name) for metric, name in SCORES.items()}
    return {metric: _number(score) for metric, score in scores.items() if isinstance(score, int | float | str)}


def _number(score: float | str) -> float:
    """Keep a number as its paper prints it: 90.0 is not 90."""
    return float(score) if isinstance(score, str) else score


def encoder_label(printed: PrintedScore | PrintedBlock) -> str:
    """Name the encoder of a printed score, and whether it is an ensemble's."""
    return f"{printed['encoder']}, ensemble" if printed["ensemble"] else str(printed["encoder"])


def printed_cell(score: PrintedScore) -> Cell:
    """Make a cell of a printed score."""
    note = f"best of {score['checkpoints']} printed checkpoints" if "checkpoints" in score else ""
    return noted_cell(f"{score['value']}", note)


def printed_columns(scores: Sequence[PrintedScore]) -> PrintedColumns:
    """Write the printed scores of a row as columns."""
    # An ensemble's score is never taken for a single reader's.
    single = next((score for score in scores if not score["ensemble"]), None)
    described = (
        f"{score['value']} ({', '.join((encoder_label(score), *printed_cell(score).notes))})" for score in scores
    )
    return {
        "printed": None if single is None else single["value"],
        "printed_encoder": None if single is None else single["encoder"],
        "printed_all": "; ".join(described) or None,
    }
