"""The pipeline of batch invariance, which learns from its parameters which trials it is about."""

from kedro.pipeline import Pipeline, node

from coattend.pipelines.batch_invariance.nodes import count_changes


def create_pipeline() -> Pipeline:
    """Ask trials their questions one at a time and in full batches: node ``count_changed_answers``."""
    inputs = ["params:batch_invariance", "params:benchmarks", "trials", "stored_tables"]
    return Pipeline([node(count_changes, inputs, "batch_invariance", name="count_changed_answers")])
