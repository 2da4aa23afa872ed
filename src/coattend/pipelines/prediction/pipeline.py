"""The prediction pipeline."""

from kedro.pipeline import Pipeline, node

from coattend.pipelines.prediction.nodes import answer


def create_pipeline() -> Pipeline:
    """Answer a file of questions: node ``prediction.answer``. Which reader and which file, its parameters say."""
    inputs = ["params:prediction", "trials", "mlflow_store", "params:engine"]
    return Pipeline([node(answer, inputs, "answered", name="answer", namespace="prediction")])
