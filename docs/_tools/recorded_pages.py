"""Pages of results that are written from records: one for each recorded study, and the leaderboard."""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, cast

from docs._tools.results_tables import ScoredRow

from coattend import readers
from coattend.config import ReaderParameters
from coattend.errors import CoattendError
from coattend.reports.records import StudyFindings
from coattend.reports.study.leaderboard import leaderboard_page
from coattend.reports.study.page import recorded_page, score_tables
from coattend.reports.study.table import rows_in_question
from coattend.reports.study.trial_records import STUDY_FILE, FileOfStudy, FileOfTrial, read_records, recorded_findings
from coattend.reports.tables import METRIC_TITLES, format_interval, format_questions, to_markdown

RECORDS = "records"


def pages(results: Path) -> Iterator[tuple[Path, str]]:
    """Write the pages anew, without training anything.

    Args:
        results: Folder of the pages of results, with that of the records.
    """
    for file in _study_files(results):
        yield results / f"{file.parent.name}.md", recorded_page(_findings(file.parent))
    leaderboard = results / RECORDS / "leaderboard.json"
    rows = json.loads(leaderboard.read_text(encoding="utf-8")) if leaderboard.is_file() else []
    yield results / "leaderboard.md", leaderboard_page(rows)


def score_tables_of(results: Path, study: str, *benchmarks: str) -> str:
    """Write the tables of scores of a recorded study, of the questions that it asks about.

    Args:
        results: Folder of the pages of results, with that of the records.
        study: Its name.
        benchmarks: The benchmarks whose tables are written; none: all of them.

    Raises:
        CoattendError: If the study is not recorded, or has no such benchmark.
    """
    folder = results / RECORDS / study
    if not folder.is_dir():
        raise CoattendError(f"there are no records of {study!r}", where="documentation", cure=f"Run study_{study}")
    findings = _findings(folder)
    rows = [row for row in rows_in_question(findings) if not benchmarks or row["benchmark"] in benchmarks]
    tables = "\n\n".join(map(to_markdown, score_tables({**findings, "rows": rows})))
    if not tables:
        raise CoattendError(f"{study!r} has no scores of {', '.join(benchmarks)}", where="documentation")
    return tables


def scored_rows(results: Path) -> Iterator[ScoredRow]:
    """Read the scores of the readers that recorded studies train as their entries have them.

    Args:
        results: Folder of the pages of results, with that of the records.
    """
    for file in _study_files(results):
        records, findings = read_records(file.parent), _findings(file.parent)
        content = cast("FileOfStudy", records[STUDY_FILE])
        study = content["study"]
        scores: dict[tuple[str, str], dict[str, str]] = {}
        for row in rows_in_question(findings):
            entry = study["base"] | study["variants"][row["variant"]]["change"]
            trials = content["outcomes"][row["benchmark"]][row["variant"]]["trials"]
            options = cast("FileOfTrial", records[trials[0]])["configuration"]["options"] if trials else {}
            if not study["options"] and _is_as_declared(entry, options):
                where = f"{row['benchmark']}, {format_questions(row['split'], row['group'])}"
                head = METRIC_TITLES[row["metric"]]
                score = f"{row['mean']:.1f} {format_interval(row)}"
                scores.setdefault((entry["reader"], where), {})[head] = score
        for (reader, where), by_metric in scores.items():
            first, *others = by_metric.items()
            heads = {f"{where}: {first[0]}": first[1], **dict(others)}
            yield ScoredRow(f"{file.parent.name}.md", findings["source"], f"`{reader}`", heads)


def _is_as_declared(entry: Mapping[str, Any], options: Mapping[str, Any]) -> bool:
    """Tell if a variant changes nothing of a reader's entry: its fields are options that its head does not have, as the
    pooling of spans, or that have the entry's own values."""
    reader = entry["reader"]
    fields = entry.keys() - {"reader"}
    return not fields & ReaderParameters.model_fields.keys() and all(
        field not in options or options[field] == readers.default_of(reader, field) for field in fields
    )


def _study_files(results: Path) -> list[Path]:
    return sorted(results.joinpath(RECORDS).glob(f"*/{STUDY_FILE}.json"))


@cache
def _findings(folder: Path) -> StudyFindings:
    """Compute the findings of a study from its records once, as their intervals and tests take seconds, and several
    pages have parts of them."""
    return recorded_findings(read_records(folder))
