"""The pipeline of the leaderboard."""

from collections.abc import Iterable

from kedro.pipeline import Pipeline, node

from coattend.pipelines.leaderboard.nodes import rank


def create_pipeline(studies: Iterable[str]) -> Pipeline:
    """Rank what was timed: node ``rank``, which waits for the studies of the same run and reads the records of all."""
    inputs = {"study_records": "study_records", "rows_before": "leaderboard_before"}
    inputs |= {study: f"study.{study}.record_page" for study in studies}
    return Pipeline([node(rank, inputs, ["leaderboard_rows", "leaderboard"], name="rank")])
