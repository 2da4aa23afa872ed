"""Nodes of the leaderboard pipeline."""

from pathlib import Path
from typing import Any

from coattend.reports.records import LeaderboardRow


def rank(study_records: Path, rows_before: list[LeaderboardRow] | None, **pages: str) -> tuple[list[Any], str]:
    """Put the configurations of all recorded studies that measure the time to a score on the leaderboard, beside rows
    of other machines and commits.

    It waits for the ``pages`` of studies that are run with it.
    """
    from coattend.reports.study.leaderboard import leaderboard_page, leaderboard_rows, merged
    from coattend.reports.study.trial_records import STUDY_FILE, read_records

    recorded = [read_records(file.parent) for file in sorted(study_records.glob(f"*/{STUDY_FILE}.json"))]
    timed = [records for records in recorded if "time_to_score" in records[STUDY_FILE]["study"]["shows"]]
    rows = merged(rows_before or [], [row for records in timed for row in leaderboard_rows(records)])
    return rows, leaderboard_page(rows)
