"""The pipeline of the results page."""

from collections.abc import Iterable

from kedro.pipeline import Pipeline, node

from coattend.pipelines.results.nodes import collect


def create_pipeline(studies: Iterable[str]) -> Pipeline:
    """Put all studies on one page: node ``collect``, which waits for those of the same run and looks the others up."""
    inputs = {"studied_before": "studied_before"} | {study: f"study.{study}.findings" for study in studies}
    return Pipeline([node(collect, inputs, ["results_page", "results_markdown"], name="collect")])
