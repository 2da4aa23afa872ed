"""The pipeline that lists trials."""

from kedro.pipeline import Pipeline, node

from coattend.pipelines.trials.nodes import list_trials


def create_pipeline() -> Pipeline:
    """List all finished trials: node ``list_trials``."""
    inputs = ["trials", "stored_tables"]
    return Pipeline([node(list_trials, inputs, ["trial_table", "trial_page"], name="list_trials")])
