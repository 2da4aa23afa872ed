"""The pipeline that compares two trials."""

from kedro.pipeline import Pipeline, node

from coattend.pipelines.compare.nodes import compare


def create_pipeline() -> Pipeline:
    """Compare two trials: node ``compare.trials``, which opens tables by their names, since the trials alone tell
    whose."""
    inputs = ["trials", "stored_tables", "params:compare"]
    return Pipeline([node(compare, inputs, ["compared", "compared_page"], name="trials", namespace="compare")])
