"""One page of all studies: what is clear, what is not, and each study's own tables and figures."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from coattend.reporting import study_page
from coattend.reporting.page import Section
from coattend.reporting.study_table import ALPHA
from coattend.reporting.tables import NONE, Cell, Table


def sections(findings: Mapping[str, dict[str, Any] | None]) -> list[Section]:
    """The page of all studies.

    Args:
        findings: Study to what it found, as `coattend.reporting.study_table.results_of` returned it with what the
            budget left out; None where it was not run.
    """
    run = {name: found for name, found in findings.items() if found is not None}
    waiting = [name for name, found in findings.items() if found is None]
    text = [f"{len(run)} of {len(findings)} studies were run."]
    if waiting:
        text.append(f"Each is a pipeline: kedro run --pipelines study_{waiting[0]}.")
    missing = Table("Not run", (Cell("Studies"),), ((Cell(", ".join(waiting)),),) if waiting else ())
    overview = Section("In short", tuple(text), (_overview(run),) if run else (), (missing,))
    return [overview, *(section for found in run.values() for section in _of_study(found))]


def _overview(run: Mapping[str, dict[str, Any]]) -> Table:
    heads = ("Study", "Source", "Benchmarks", "Protocol", "Encoders", "Seeds", "Variants")
    heads += ("Clear differences", "Trials failed")
    rows = tuple(
        (
            Cell(found["title"], (name,)),
            Cell(found["source"]),
            Cell(", ".join(found["benchmarks"])),
            Cell(found["protocol"]),
            Cell(", ".join(dict.fromkeys(row["encoder"] for row in found["rows"] if row["encoder"])) or NONE),
            Cell(str(len(found["seeds"]))),
            Cell(str(len(found["variants"]))),
            Cell(_clear(found)),
            Cell(str(len(found["failures"]))),
        )
        for name, found in run.items()
    )
    return Table("", tuple(map(Cell, heads)), rows)


def _clear(found: Mapping[str, Any]) -> str:
    tested = [row["p_corrected"] for row in found["rows"] if row["p_corrected"] is not None]
    return f"{sum(p < ALPHA for p in tested)} of {len(tested)}" if tested else NONE


def _of_study(found: dict[str, Any]) -> Iterator[Section]:
    """A study's sections: the first has its title, the others say whose they are."""
    first, *others = study_page.sections(found)
    yield replace(first, title=found["title"], text=(f"{found['source']} ({found['name']}).", *first.text))
    for section in others:
        links = tuple((held, f"studies/{found['name']}/{page}") for held, page in section.links)
        yield replace(section, title=f"{section.title} ({found['source']})", links=links)
