"""How sure a study's variants are of what they answer."""

from collections.abc import Iterator, Mapping
from typing import Any

from coattend.reporting import calibration
from coattend.reporting.page import Section
from coattend.reporting.tables import LABELS, Cell, Table, place

_ANSWERABILITY = (
    "Answerability AUROC: of a question without an answer and one with, how often the reader rather says of the first "
    "that it has none, whatever the threshold from which it says so; guessing has 50."
)


def sections(results: Mapping[str, Any]) -> Iterator[Section]:
    """One section, where any variant's scores say how sure it is.

    Args:
        results: What `coattend.reporting.study_table.results_of` returned.
    """
    text: list[str] = []
    tables, folded, figures = [], [], []
    for benchmark, found in results["analyses"].items():
        by_place = _by_place(results, found.get("calibration", {}))
        sure = _with(by_place, "ece")
        for where, variants in sure.items():
            tables.append(calibration.table(f"Calibration: {benchmark}, {where}", "Variant", variants))
            folded.append(calibration.by_tenths(f"{benchmark}, {where}", "Variant", variants))
        if sure:
            text += calibration.ABOUT
            figures.append((f"Risk against coverage: {benchmark}.", calibration.risk_against_coverage(sure)))
        for where, variants in _with(by_place, "answerability_auroc").items():
            text.append(_ANSWERABILITY)
            tables.append(_answerability(f"{benchmark}, {where}", variants))
    if tables:
        yield Section("Calibration", tuple(dict.fromkeys(text)), tuple(tables), tuple(folded), tuple(figures))


def _by_place(results: Mapping[str, Any], found: Mapping[str, Any]) -> dict[str, dict[str, calibration.Sure]]:
    """Split, or part of one, to title of a variant to how sure it is."""
    by_place: dict[str, dict[str, calibration.Sure]] = {}
    for name, splits in found.items():
        for split, sure in splits.items():
            by_place.setdefault(place(split, sure["group"]), {})[results["variants"][name]["title"]] = sure
    return by_place


def _with(
    by_place: Mapping[str, Mapping[str, calibration.Sure]], measure: str
) -> dict[str, dict[str, calibration.Sure]]:
    """The variants of which a measure is known."""
    known = {
        where: {title: sure for title, sure in variants.items() if sure.get(measure) is not None}
        for where, variants in by_place.items()
    }
    return {where: variants for where, variants in known.items() if variants}


def _answerability(where: str, variants: Mapping[str, calibration.Sure]) -> Table:
    heads = tuple(map(Cell, ("Variant", LABELS["answerability_auroc"])))
    rows = tuple((Cell(title), Cell(f"{sure['answerability_auroc']:.1f}")) for title, sure in variants.items())
    return Table(f"{LABELS['answerability_auroc']}: {where}", heads, rows)
