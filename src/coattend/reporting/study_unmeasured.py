"""The paper's numbers that stand beside nothing here: of other splits, or of variants that were not run."""

from collections.abc import Iterator, Mapping
from typing import Any

from coattend.evaluation.runs import finished
from coattend.reporting.page import Section
from coattend.reporting.study_printed import QUANTITIES, by_place, cell, label
from coattend.reporting.study_shown import trained
from coattend.reporting.tables import LABELS, NONE, Cell, Table, place

_HEADS = tuple(map(Cell, ("Variant", "Benchmark", "Where", "What", "Printed", "Encoder")))


def sections(results: Mapping[str, Any]) -> Iterator[Section]:
    """A section, where the paper prints more than was measured.

    Args:
        results: What `coattend.reporting.study_table.results_of` returned.
    """
    text = "The paper prints these where the study has no result: nothing here was compared with them."
    for table in tables(results):
        yield Section("Not measured here", (text,), (table,))


def tables(results: Mapping[str, Any]) -> Iterator[Table]:
    """One table, where there is any such number.

    Args:
        results: As in `sections`.
    """
    rows = (*_scores(results), *_quantities(results))
    if rows:
        yield Table("Printed, not measured here", _HEADS, rows, quiet=True)


def _scores(results: Mapping[str, Any]) -> Iterator[tuple[Cell, ...]]:
    keys = ("variant", "benchmark", "split", "group", "metric")
    measured = {tuple(row[key] for key in keys) for row in results["rows"]}
    for where, printed in by_place(results["printed"], results["benchmarks"]).items():
        variant, benchmark, split, group, metric = where
        for one in printed if where not in measured else ():
            told = (results["variants"][variant]["title"], benchmark, place(split, group), LABELS[metric])
            yield (*map(Cell, told), cell(one), Cell(label(one)))


def _quantities(results: Mapping[str, Any]) -> Iterator[tuple[Cell, ...]]:
    for block in results["printed"]:
        for variant, numbers in block["numbers"].items():
            beside = _beside(results, variant, ensemble=block["ensemble"])
            title = results["variants"][variant]["title"]
            for benchmark in ("", *results["benchmarks"]):
                given = numbers.get(benchmark, {}) if benchmark else numbers
                for name in (name for name in QUANTITIES if name in given and (benchmark, name) not in beside):
                    for what, value in _parts(QUANTITIES[name], given[name]):
                        told = (title, benchmark or NONE, NONE, what, f"{value:g}", label(block))
                        yield tuple(map(Cell, told))


def _beside(results: Mapping[str, Any], variant: str, *, ensemble: bool) -> set[tuple[str, str]]:
    """Benchmark, or none, and name of the quantities that stand beside measured ones elsewhere on the page."""
    counted = any(variant in found.get("boundary_pos", {}) for found in results["analyses"].values())
    beside = {("", name) for name in ("boundary_pos", "boundary_pos_wrong") if counted}
    if ensemble or not {"parameters", "seconds_per_epoch"} & set(results["shows"]):
        return beside
    timed = [name for name, by_variant in trained(results) if finished(by_variant.get(variant, []))]
    beside |= {("", "parameters_millions") for _ in timed[:1]}
    return beside | {(benchmark, "minutes_per_epoch") for benchmark in timed}


def _parts(what: str, value: Any) -> Iterator[tuple[str, float]]:
    """A quantity, or each part of one that is counted by parts of speech."""
    if isinstance(value, Mapping):
        yield from ((f"{what}, {tag}", count) for tag, count in value.items())
    else:
        yield what, value
