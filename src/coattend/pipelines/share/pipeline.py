"""The pipeline that shares a trained reader."""

from kedro.pipeline import Pipeline, node

from coattend.pipelines.share.nodes import upload, write


def create_pipeline() -> Pipeline:
    """Write a reader's folder, and send it where that is asked for: nodes ``share.write`` and ``share.upload``."""
    inputs = ["params:share", "params:benchmarks", "trials", "mlflow_store", "stored_tables", "shared"]
    return Pipeline(
        [
            node(write, inputs, "sharing", name="write", namespace="share"),
            node(upload, ["sharing", "params:share", "shared"], None, name="upload", namespace="share"),
        ]
    )
