"""What is said of a study: its table, what differs from the paper, what failed, and what to keep in mind."""

import io
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from coattend.reporting import study_breakdowns, study_calibration, study_printed, study_shown, study_unmeasured
from coattend.reporting.page import Section
from coattend.reporting.study_table import ALPHA, asked_rows
from coattend.reporting.tables import LABELS, NONE, Cell, Table, measured, place
from coattend.reporting.warnings import study_warnings

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


PROTOCOLS = {
    "finetuned": "Protocol: finetuned, every weight is trained.",
    "frozen": "Protocol: frozen, interaction and head alone are trained.",
}
"""What a study's protocols mean."""


def sections(results: dict[str, Any]) -> list[Section]:
    """The page of a study.

    Args:
        results: What `coattend.reporting.study_table.results_of` returned.
    """
    parts = [
        Section(f"{results['source']}", tuple(_summary(results)), tuple(tables(results)), tuple(_by_seed(results)))
    ]
    parts += [*study_shown.sections(results), *study_calibration.sections(results)]
    parts += study_unmeasured.sections(results)
    if results["cited"]:
        cited = "Numbers that the paper quotes from others. Nothing here was compared with them."
        parts.append(Section("Only cited", (cited,), folded=(_cited(results),)))
    if results["left_out"]:
        titles = ", ".join(results["variants"][name]["title"] for name in results["left_out"])
        parts.append(Section("Left out", (f"To keep within its budget, the study did not train: {titles}.",)))
    if results["failures"]:
        parts.append(Section("Failed", ("Another run trains these alone.",), (_failures(results),)))
    return [*parts, Section("What to keep in mind", (*study_warnings(results), *results["notes"]))]


def tables(results: dict[str, Any]) -> Iterator[Table]:
    """For each benchmark, split and metric a table of the variants."""
    places = dict.fromkeys((row["benchmark"], row["split"], row["group"], row["metric"]) for row in results["rows"])
    for benchmark, split, group, metric in places:
        here = {"benchmark": benchmark, "split": split, "group": group, "metric": metric}
        rows = [row for row in results["rows"] if here.items() <= row.items()]
        encoders = dict.fromkeys(study_printed.label(one) for row in rows for one in row["printed"])
        caption = f"{benchmark}, {place(split, group)}: {LABELS[metric]}, {rows[0]['questions']:,} questions"
        heads = ("Variant", LABELS[metric], "Beside its baseline", *(f"Printed, {encoder}" for encoder in encoders))
        yield Table(caption, tuple(map(Cell, heads)), tuple(_row(row, list(encoders)) for row in rows))


def csv(rows: pa.Table) -> str:
    """A study's rows as CSV."""
    return rows.to_pandas().to_csv(index=False, lineterminator="\n")


def latex(results: dict[str, Any]) -> str:
    """A study's tables as LaTeX, for the package booktabs."""
    return "\n".join(map(_tabular, (*tables(results), *study_unmeasured.tables(results))))


def figures(results: dict[str, Any], parts: Iterable[Section]) -> dict[str, "Figure"]:
    """The page's figures, and those of breakdowns that it does not show, by names for their files.

    A name is what the first sentence under a figure says.

    Args:
        results: As in `sections`.
        parts: The page's sections.
    """
    every = [*study_breakdowns.not_shown(results), *parts]
    drawn = ((caption.partition(". ")[0], figure) for part in every for caption, figure in part.figures)
    return {re.sub(r"\W+", "_", name.lower()).strip("_"): figure for name, figure in drawn}


def encoders(results: dict[str, Any]) -> str:
    """What the variants were measured with, by the names of encoders' entries."""
    read: dict[str, dict[str, None]] = {}
    for row in results["rows"]:
        if row["encoder"]:
            read.setdefault(row["encoder"], {})[row["title"]] = None
    if len(read) < 2:
        return "".join(f"Encoder: {name}." for name in read)
    told = "; ".join(f"{name} ({', '.join(titles)})" for name, titles in read.items())
    return f"Encoders: {told}."


def _summary(results: dict[str, Any]) -> Iterator[str]:
    seeds = f"Seed{'s' * (len(results['seeds']) > 1)} {', '.join(map(str, results['seeds']))}"
    yield f"{seeds}. {PROTOCOLS[results['protocol']]} {encoders(results)}".strip()
    shared = ", ".join(f"{name} {value}" for name, value in results.get("options", {}).items())
    if shared:
        yield f"Every variant has other options here than in its paper: {shared}."
    if results.get("metric"):
        yield f"Judged, where it is scored so, by: {LABELS[results['metric']]}."
    if not results["rows"]:
        yield "Nothing was scored: no trial was finished, or the answer to no question is known."
    clear = [row for row in results["rows"] if row["p_corrected"] is not None and row["p_corrected"] < ALPHA]
    tested = [row for row in results["rows"] if row["p_corrected"] is not None]
    if tested:
        yield (
            f"Differences clear after a correction for their number (Holm, 5 %): {len(clear)} of {len(tested)}. "
            "Brackets hold 95 % of a bootstrap over passages."
        )


def _row(row: dict[str, Any], encoders: list[str]) -> tuple[Cell, ...]:
    score = measured(row, "" if row["spread"] is None else f"± {row['spread']:.1f} over {row['trials']} seeds")
    printed = {study_printed.label(one): study_printed.cell(one) for one in row["printed"]}
    return (Cell(row["title"]), score, _beside(row), *(printed.get(encoder, Cell(NONE)) for encoder in encoders))


def _beside(row: dict[str, Any]) -> Cell:
    if row["difference"] is None:
        return Cell(NONE, ("the baseline",) if row["baseline"] is None else ())
    found = {"mean": row["difference"], "low": row["difference_low"], "high": row["difference_high"]}
    p = "" if row["p_corrected"] is None else f"p {row['p_corrected']:.3f}"
    return measured(found, p, row["verdict"], sign="+")


def _by_seed(results: dict[str, Any]) -> Iterator[Table]:
    heads = ("Variant", "Where", "Seed", "Beside its baseline", "McNemar's p")
    rows = tuple(
        (
            Cell(row["title"]),
            Cell(f"{row['benchmark']}, {place(row['split'], row['group'])}, {LABELS[row['metric']]}"),
            Cell(str(one["seed"])),
            measured(one, sign="+"),
            Cell(NONE if one["mcnemar_p"] is None else f"{one['mcnemar_p']:.3f}"),
        )
        for row in asked_rows(results)
        for one in row["by_seed"]
    )
    if rows:
        yield Table("Seed by seed", tuple(map(Cell, heads)), rows)


def _cited(results: dict[str, Any]) -> Table:
    heads = ("System", "Encoder", "Source", "Numbers")
    rows = tuple(
        (
            Cell(f"{one['name']}{one['mark'] or ''}"),
            Cell(one["encoder"] or NONE),
            Cell(one["source"] or NONE),
            Cell("; ".join(_printed(one["numbers"]))),
        )
        for one in results["cited"]
    )
    return Table("Systems", tuple(map(Cell, heads)), rows, aligned=False, quiet=True)


def _printed(numbers: Any, path: str = "") -> Iterator[str]:
    if not isinstance(numbers, dict):
        yield f"{path} {numbers:g}" if isinstance(numbers, int | float) else f"{path} {numbers}"
        return
    for key, value in numbers.items():
        yield from _printed(value, f"{path} {key}".strip())


def _failures(results: dict[str, Any]) -> Table:
    heads = ("Variant", "Benchmark", "Seed", "Why")
    keys = ("variant", "benchmark", "seed", "failure")
    rows = tuple(tuple(Cell(str(one[key])) for key in keys) for one in results["failures"])
    return Table("", tuple(map(Cell, heads)), rows, aligned=False)


def _tabular(table: Table) -> str:
    import pandas as pd

    frame = pd.DataFrame(
        [[" ".join(filter(None, (cell.text, *cell.notes))) for cell in row] for row in table.rows],
        columns=[cell.text for cell in table.columns],
    )
    text = io.StringIO()
    frame.to_latex(text, index=False, escape=True, caption=table.caption)
    return text.getvalue()
