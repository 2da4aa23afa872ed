"""The verification pipeline, which learns from a run whose tables to read."""

from kedro.pipeline import Pipeline, node

from coattend.pipelines.verify.nodes import judge, verify


def create_pipeline() -> Pipeline:
    """Ask a trial again and judge: nodes ``verify_run`` and ``judge_run``, which fails where an answer is another."""
    inputs = ["params:run", "params:benchmarks", "trials", "mlflow_store", "stored_tables"]
    return Pipeline(
        [node(verify, inputs, "verified", name="verify_run"), node(judge, "verified", None, name="judge_run")]
    )
