"""A study's page, and its exports: tables in LaTeX and figures by name."""

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from coattend.reports.records import StudyFindings, StudyRow
from coattend.reports.render import Section
from coattend.reports.sections import partial_scoring, training_warnings, unmonitored_trials
from coattend.reports.study import analyses, sections
from coattend.reports.study.paper_numbers import encoder_label, printed_cell
from coattend.reports.study.table import ALPHA, rows_in_question
from coattend.reports.tables import (
    METRIC_TITLES,
    NO_VALUE,
    Cell,
    Row,
    Table,
    estimate_cell,
    format_questions,
    heads,
    to_latex,
)

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


PROTOCOLS = {
    "finetuned": "Protocol: finetuned, every weight is trained.",
    "frozen": "Protocol: frozen, interaction and head alone are trained.",
}


def study_sections(findings: StudyFindings) -> list[Section]:
    """Write the sections of a study's page."""
    shows = findings["shows"]
    # Sections follow the order of a paper: scores, how they came about, analyses, then what is missing.
    requested: list[Section | None] = [
        Section(findings["source"], tuple(_summary(findings)), tuple(score_tables(findings)), _seed_tables(findings)),
        sections.search_section(findings),
        *(sections.line_sections(findings) if "lines" in shows else ()),
        sections.cost_section(findings),
        *(sections.training_sections(findings) if "curve" in shows else ()),
        *analyses.requested_breakdowns(findings),
        analyses.boundary_section(findings),
        analyses.ensemble_section(findings),
        analyses.example_section(findings),
        analyses.reranking_section(findings),
        sections.attention_section(findings) if "attention" in shows else None,
        analyses.calibration_section(findings),
        sections.unmeasured_section(findings),
        sections.cited_section(findings),
        _left_out(findings),
        _failures(findings),
        Section("What to keep in mind", (*_warnings(findings), *findings["notes"])),
    ]
    return [section for section in requested if section is not None]


def score_tables(findings: StudyFindings) -> Iterator[Table]:
    """List the variants' scores, a table for each benchmark, split, group of questions and metric."""
    tables: dict[tuple[str, str, str, str], list[StudyRow]] = {}
    for row in findings["rows"]:
        tables.setdefault((row["benchmark"], row["split"], row["group"], row["metric"]), []).append(row)
    for (benchmark, split, group, metric), rows in tables.items():
        encoders = list(dict.fromkeys(encoder_label(score) for row in rows for score in row["printed"]))
        questions = f"{rows[0]['questions']:,} questions"
        caption = f"{benchmark}, {format_questions(split, group)}: {METRIC_TITLES[metric]}, {questions}"
        printed = (f"Printed, {encoder}" for encoder in encoders)
        columns = heads("Variant", METRIC_TITLES[metric], "Beside its baseline", *printed)
        yield Table(caption, columns, tuple(_score_row(row, encoders) for row in rows))


def _score_row(row: StudyRow, encoders: Iterable[str]) -> Row:
    std = "" if row["spread"] is None else f"± {row['spread']:.1f} over {row['trials']} seeds"
    # Each encoder of the paper has a column.
    printed = {encoder_label(score): printed_cell(score) for score in row["printed"]}
    return (
        Cell(row["title"]),
        estimate_cell(row, std),
        _difference_cell(row),
        *(printed.get(encoder, Cell(NO_VALUE)) for encoder in encoders),
    )


def _difference_cell(row: StudyRow) -> Cell:
    if row["difference"] is None:
        return Cell(NO_VALUE, ("the baseline",) if row["baseline"] is None else ())
    p_corrected = row.get("p_corrected")
    return estimate_cell(
        {"mean": row["difference"], "low": row["difference_low"], "high": row["difference_high"]},
        "" if p_corrected is None else f"p {p_corrected:.3f}",
        row.get("verdict") or "",
        sign="+",
    )


def _seed_tables(findings: StudyFindings) -> tuple[Table, ...]:
    """List the differences from the baseline seed by seed, if there are any."""
    rows = tuple(
        (
            Cell(row["title"]),
            Cell(f"{row['benchmark']}, {format_questions(row['split'], row['group'])}, {METRIC_TITLES[row['metric']]}"),
            Cell(str(difference["seed"])),
            estimate_cell(difference, sign="+"),
            Cell(NO_VALUE if difference["mcnemar_p"] is None else f"{difference['mcnemar_p']:.3f}"),
        )
        for row in rows_in_question(findings)
        for difference in row["by_seed"]
    )
    columns = heads("Variant", "Where", "Seed", "Beside its baseline", "McNemar's p")
    return (Table("Seed by seed", columns, rows),) if rows else ()


def _summary(findings: StudyFindings) -> Iterator[str]:
    seeds = f"Seed{'s' * (len(findings['seeds']) > 1)} {', '.join(map(str, findings['seeds']))}"
    yield f"{seeds}. {PROTOCOLS[findings['protocol']]} {_encoders(findings)}".strip()
    shared = ", ".join(f"{name} {value}" for name, value in findings.get("options", {}).items())
    if shared:
        yield f"Every variant has other options here than in its paper: {shared}."
    metric = findings.get("metric")
    if metric:
        yield f"Judged, where it is scored so, by: {METRIC_TITLES[metric]}."
    if not findings["rows"]:
        yield "Nothing was scored: no trial was finished, or the answer to no question is known."
    clear, tested = clear_differences(findings)
    if tested:
        yield (
            f"Differences clear after a correction for their number (Holm, 5 %): {clear} of {tested}. "
            "Brackets hold 95 % of a bootstrap over passages."
        )


def clear_differences(findings: StudyFindings) -> tuple[int, int]:
    """Count the differences that are clear after the correction, and all that were tested."""
    p_values = [p for row in findings["rows"] if (p := row.get("p_corrected")) is not None]
    return sum(p < ALPHA for p in p_values), len(p_values)


def _encoders(findings: StudyFindings) -> str:
    """Name the encoders that the variants were measured with, and of several whose they are."""
    # A dictionary keeps the order of the variants and each title once.
    titles: dict[str, dict[str, None]] = {}
    for row in findings["rows"]:
        if row["encoder"]:
            titles.setdefault(row["encoder"], {})[row["title"]] = None
    if len(titles) < 2:
        return "".join(f"Encoder: {encoder}." for encoder in titles)
    described = "; ".join(f"{encoder} ({', '.join(variants)})" for encoder, variants in titles.items())
    return f"Encoders: {described}."


def _left_out(findings: StudyFindings) -> Section | None:
    left_out = findings.get("left_out")
    if not left_out:
        return None
    titles = ", ".join(findings["variants"][name]["title"] for name in left_out)
    return Section("Left out", (f"To keep within its budget, the study did not train: {titles}.",))


def _failures(findings: StudyFindings) -> Section | None:
    if not findings["failures"]:
        return None
    rows = tuple(
        heads(failure["variant"], failure["benchmark"], str(failure["seed"]), failure["failure"])
        for failure in findings["failures"]
    )
    table = Table("", heads("Variant", "Benchmark", "Seed", "Why"), rows, aligned=False)
    return Section("Failed", ("Another run trains these alone.",), (table,))


def _warnings(findings: StudyFindings) -> Iterator[str]:
    """Say which questions were not scored, and what looks wrong with trials."""
    # A trial that is scored on several benchmarks is named once, by the one it was trained on.
    other_benchmarks = findings.get("trained_on", {})
    trials_by_name = {
        f"{findings['variants'][variant]['title']} on "
        f"{other_benchmarks.get(benchmark, {}).get(variant, benchmark)}": trials
        for benchmark, by_variant in findings["trials"].items()
        for variant, trials in by_variant.items()
    }
    for benchmark, results in findings["analyses"].items():
        yield from partial_scoring(benchmark, results.get("scored", 1))
    yield from training_warnings(trials_by_name)
    yield from unmonitored_trials(trial for trials in trials_by_name.values() for trial in trials)


def latex_tables(findings: StudyFindings) -> str:
    """Write a study's tables as LaTeX for the package booktabs."""
    unmeasured = sections.unmeasured_table(findings)
    tables = [*score_tables(findings), *([unmeasured] if unmeasured else [])]
    return "\n".join(map(to_latex, tables))


def named_figures(findings: StudyFindings, page: Iterable[Section]) -> "dict[str, Figure]":
    """Collect the page's figures and those of all other breakdowns, by names for their files.

    A figure is named after the first sentence of its caption.

    Args:
        findings: The study's findings.
        page: The sections of its page.
    """
    # Breakdowns that the page does not show have figures as well.
    all_sections = [*analyses.unrequested_breakdowns(findings), *page]
    drawn = ((caption.partition(". ")[0], figure) for section in all_sections for caption, figure in section.figures)
    return {re.sub(r"\W+", "_", title.lower()).strip("_"): figure for title, figure in drawn}
