"""The pipeline that compares two trials."""

from kedro.pipeline import Pipeline, node

from coattend.pipelines.compare.nodes import compare

NAMESPACE = "compare"


def create_pipeline() -> Pipeline:
    """Compare two trials: node ``compare.trials``.

    Which benchmark's tables are read is known from the trials alone, so that the node opens them by its name.
    """
    inputs = ["trials", "stored_tables", "params:compare"]
    return Pipeline([node(compare, inputs, ["compared", "compared_page"], name="trials", namespace=NAMESPACE)])
