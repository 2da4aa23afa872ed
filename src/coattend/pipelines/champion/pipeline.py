"""The pipeline that names a benchmark's champion."""

from kedro.pipeline import node
from kedro.pipeline.node import Node

from coattend.pipelines.champion.nodes import crown


def create_nodes(benchmark: str) -> list[Node]:
    """Register the best trained reader: node ``<benchmark>.crown``."""
    inputs = [f"{benchmark}.questions", "mlflow_store", f"params:benchmarks.{benchmark}"]
    return [node(crown, inputs, f"{benchmark}.champion", name="crown", namespace=benchmark)]
