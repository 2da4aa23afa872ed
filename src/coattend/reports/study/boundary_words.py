"""Section of a study about the words at which answers begin and end: their parts of speech, and corrected ones."""

from collections.abc import Iterator, Mapping
from typing import Literal

from coattend.config.study import QUANTITIES
from coattend.evaluation.records import BoundaryCounts
from coattend.reports.records import StudyFindings
from coattend.reports.render import Section
from coattend.reports.study.figures import TagCounts, boundary_figure
from coattend.reports.study.paper_numbers import as_mapping, printed_numbers
from coattend.reports.study.table import baseline_of, title_of
from coattend.reports.tables import NO_VALUE, Cell, Table, noted_cell

_BOUNDARY_TITLES = {name: QUANTITIES[name] for name in ("boundary_pos", "boundary_pos_wrong")}
_BOUNDARY_TEXT = (
    "Counts of the first and the last word of each answer, a one-word answer's twice, as means over seeds; the "
    "gold answer is a question's first. Wrong: another word with another part of speech, by the gold word's. Shares "
    "are of all words of a column, those of wrong words of the gold words with that part of speech."
)
_CORRECTION_TEXT = (
    "Corrected: the baseline's mistakes less the variant's, as a share of the baseline's mistakes, and of all boundary "
    "words or questions."
)
_CORRECTIONS = {"corrected_pos_percent": "Wrong parts of speech", "corrected_answers_percent": "Wrong answers"}
_ALL_TAGS = "All"


def boundary_section(findings: StudyFindings) -> Section | None:
    """Write a section about the words at which answers begin and end, if they were counted."""
    text, tables, figures = [_BOUNDARY_TEXT], [], []
    for benchmark, analyses in findings["analyses"].items():
        by_variant = analyses.get("boundary_pos", {})
        if not any(counts["gold"] for counts in by_variant.values()):
            continue
        predicted = _counts_by_column(findings, by_variant, "predicted")
        wrong = {title_of(findings, name): counts["wrong"] for name, counts in by_variant.items()}
        caption = f"Parts of speech of boundary words: {benchmark}. The share of each among the gold, the predicted and"
        figures.append((f"{caption} the wrongly predicted words.", boundary_figure(predicted, wrong)))
        for quantity, title in _BOUNDARY_TITLES.items():
            tables.append(_boundary_table(findings, f"{title}, {benchmark}", by_variant, quantity))
        corrections = list(_correction_rows(findings, by_variant))
        if corrections:
            tables.append(Table.of(f"Corrections, {benchmark}", corrections))
            text.append(_CORRECTION_TEXT)
    title = "Words at which answers begin and end"
    return Section(title, tuple(dict.fromkeys(text)), tuple(tables), figures=tuple(figures)) if tables else None


def _counts_by_column(
    findings: StudyFindings, by_variant: Mapping[str, BoundaryCounts], counted: Literal["predicted", "wrong"]
) -> dict[str, TagCounts]:
    """Collect the counts of gold answers and of each variant, by column title."""
    columns: dict[str, TagCounts] = {}
    for name, counts in by_variant.items():
        title = title_of(findings, name)
        # Variants that read the same tags share their gold counts, which are listed once.
        if counts["gold"] not in columns.values():
            columns["Gold" if not columns else f"Gold, as for {title}"] = counts["gold"]
        columns[title] = counts[counted]
    return columns


def _boundary_table(
    findings: StudyFindings, caption: str, by_variant: Mapping[str, BoundaryCounts], quantity: str
) -> Table:
    counted: Literal["predicted", "wrong"] = "predicted" if quantity == "boundary_pos" else "wrong"
    columns = _counts_by_column(findings, by_variant, counted)
    gold = {title_of(findings, name): counts["gold"] for name, counts in by_variant.items()}
    texts: dict[str, dict[str, Cell]] = {}
    for title, counts in columns.items():
        wholes = gold[title] if counted == "wrong" and title in gold else dict.fromkeys(counts, sum(counts.values()))
        shown = {**counts, _ALL_TAGS: sum(counts.values())}
        wholes = {**wholes, _ALL_TAGS: sum(gold[title].values() if title in gold else counts.values())}
        texts[title] = {tag: _count_cell(count, wholes.get(tag, 0)) for tag, count in shown.items()}
    for name in by_variant:
        # Of several printed counts the first are listed.
        blocks = (printed_numbers(block, name) for block in findings["printed"])
        printed = next((as_mapping(numbers[quantity]) for numbers in blocks if quantity in numbers), {})
        if printed:
            texts[f"{title_of(findings, name)}, printed"] = {
                tag: Cell(f"{count:,.0f}") for tag, count in printed.items() if isinstance(count, int | float)
            }
    # Tags keep the order of the first column, the most frequent first.
    tags = [tag for tag in dict.fromkeys(tag for column in texts.values() for tag in column) if tag != _ALL_TAGS]
    return Table.of_columns(caption, "Tag", texts.items(), {tag: tag for tag in (*tags, _ALL_TAGS)})


def _count_cell(count: float, whole: float) -> Cell:
    return noted_cell(f"{count:,.0f}", f"{100 * count / whole:.1f} %" if whole else "")


def _correction_rows(
    findings: StudyFindings, by_variant: Mapping[str, BoundaryCounts]
) -> Iterator[Mapping[str, Cell | str]]:
    """List how many mistakes of its baseline's each variant corrects, where both read the same tags."""
    for name, counts in by_variant.items():
        baseline = by_variant.get(baseline_of(findings, name))
        if baseline is None or baseline is counts or baseline["gold"] != counts["gold"]:
            continue
        mistakes = (
            ("corrected_pos_percent", sum(baseline["wrong"].values()), sum(counts["wrong"].values()),
             sum(counts["gold"].values())),
            ("corrected_answers_percent", baseline["wrong_answers"], counts["wrong_answers"], counts["questions"]),
        )  # fmt: skip
        for quantity, before, after, everything in mistakes:
            blocks = (printed_numbers(block, name) for block in findings["printed"])
            printed = next((numbers[quantity] for numbers in blocks if quantity in numbers), None)
            corrected = before - after
            yield {
                "Variant": title_of(findings, name),
                "Mistakes": _CORRECTIONS[quantity],
                "Its baseline's": f"{before:,.0f}",
                "Its own": f"{after:,.0f}",
                "Corrected, % of its baseline's": f"{100 * corrected / before:.2f}" if before else NO_VALUE,
                "Corrected, % of all": f"{100 * corrected / everything:.2f}" if everything else NO_VALUE,
                "Printed, %": f"{printed:g}" if isinstance(printed, int | float) else NO_VALUE,
            }
