"""One page of all studies: an overview, and each study's tables and figures."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from coattend.reports.records import StudyFindings
from coattend.reports.render import Section
from coattend.reports.study.page import clear_differences, study_sections
from coattend.reports.tables import NO_VALUE, Cell, Row, Table, heads


def sections(findings: Mapping[str, StudyFindings | None]) -> list[Section]:
    """Write the sections of all studies, an overview first.

    Args:
        findings: Study to its findings; None if it was not run.
    """
    by_study = {name: study for name, study in findings.items() if study is not None}
    not_run = [name for name, study in findings.items() if study is None]
    text = [f"{len(by_study)} of {len(findings)} studies were run."]
    if not_run:
        text.append(f"Each is a pipeline: kedro run --pipelines study_{not_run[0]}.")
    # Studies that were not run are folded away, with the command that runs them.
    missing = Table("Not run", heads("Studies"), (heads(", ".join(not_run)),) if not_run else ())
    overview = Section("In short", tuple(text), (_overview(by_study),) if by_study else (), (missing,))
    return [overview, *(section for study in by_study.values() for section in _study_sections(study))]


def _overview(by_study: Mapping[str, StudyFindings]) -> Table:
    columns = heads(
        "Study",
        "Source",
        "Benchmarks",
        "Protocol",
        "Encoders",
        "Seeds",
        "Variants",
        "Clear differences",
        "Trials failed",
    )
    return Table("", columns, tuple(_overview_row(name, study) for name, study in by_study.items()))


def _overview_row(name: str, study: StudyFindings) -> Row:
    clear, tested = clear_differences(study)
    encoders = dict.fromkeys(row["encoder"] for row in study["rows"] if row["encoder"])
    return (
        Cell(study["title"], (name,)),
        Cell(study["source"]),
        Cell(", ".join(study["benchmarks"])),
        Cell(study["protocol"]),
        Cell(", ".join(encoders) or NO_VALUE),
        Cell(str(len(study["seeds"]))),
        Cell(str(len(study["variants"]))),
        Cell(f"{clear} of {tested}" if tested else NO_VALUE),
        Cell(str(len(study["failures"]))),
    )


def _study_sections(study: StudyFindings) -> Iterator[Section]:
    """Title a study's first section with the study's name, and tell in the others which study they belong to."""
    first, *following = study_sections(study)
    yield replace(first, title=study["title"], text=(f"{study['source']} ({study['name']}).", *first.text))
    # Links are relative to the folder of the page of all studies.
    for section in following:
        links = tuple((description, f"studies/{study['name']}/{address}") for description, address in section.links)
        yield replace(section, title=f"{section.title} ({study['source']})", links=links)
