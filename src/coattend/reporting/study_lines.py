"""Figures of a study's scores along an axis, such as its number of turns: a line for each series of variants."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import mean
from typing import Any

from coattend.evaluation.runs import finished
from coattend.reporting.page import Section
from coattend.reporting.study_figures import lines
from coattend.reporting.study_table import asked_rows
from coattend.reporting.tables import place


def sections(results: Mapping[str, Any]) -> Iterator[Section]:
    """A figure for each benchmark and split.

    Args:
        results: What `coattend.reporting.study_table.results_of` returned.
    """
    points = [point for row in asked_rows(results) for point in _points(row, results)]
    for benchmark, split, group in dict.fromkeys((one["benchmark"], one["split"], one["group"]) for one in points):
        own = [one for one in points if (one["benchmark"], one["split"], one["group"]) == (benchmark, split, group)]
        title = f"Score by {results['axis']}: {benchmark}, {place(split, group)}"
        caption = f"{title}. Bars hold 95 % of a bootstrap over passages."
        yield Section(title, figures=((caption, lines(own, results["axis"])),))


def _points(row: Mapping[str, Any], results: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """A row once for each line that its variant is a point of, with where it stands."""
    variant, trials = results["variants"][row["variant"]], results["trials"][row["benchmark"]][row["variant"]]
    for series in variant["series"]:
        yield {**row, "series": series, "at": _at(variant["at"], trials)}


def _at(given: float | str, trials: Sequence[Mapping[str, Any]]) -> float:
    return float(mean(one["questions"] for one in finished(trials)) if given == "questions" else given)
