"""The pipeline that names a benchmark's champion."""

from kedro.pipeline import Pipeline, node

from coattend.pipelines.champion.nodes import crown


def create_pipeline(benchmark: str) -> Pipeline:
    """Register the best trained reader: node ``<benchmark>.crown``.

    Args:
        benchmark: Name of the benchmark.
    """
    return Pipeline(
        [node(crown, ["questions", "mlflow_store", "params:benchmark"], "champion", name="crown")],
        namespace=benchmark,
        inputs={"mlflow_store": "mlflow_store"},
        parameters={"params:benchmark": f"params:benchmarks.{benchmark}"},
    )
