"""The pipeline of the results page."""

from collections.abc import Sequence

from kedro.pipeline import Pipeline, node

from coattend.pipelines.results.nodes import collect


def create_pipeline(studies: Sequence[str]) -> Pipeline:
    """Put all studies on one page: node ``collect``. Those that were not run are named on the page."""
    findings = {study: f"study.{study}.findings" for study in studies}
    return Pipeline([node(collect, findings, ["results_page", "results_markdown"], name="collect")])
