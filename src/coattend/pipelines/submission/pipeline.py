"""Nodes of the submission pipeline for one reader on one benchmark."""

from kedro.pipeline import node
from kedro.pipeline.node import Node

from coattend.pipelines.submission.nodes import submit


def create_nodes(benchmark: str, reader: str) -> list[Node]:
    """Write the file that the benchmark's scorer reads: node ``<benchmark>.<reader>.submit``."""
    namespace = f"{benchmark}.{reader}"
    inputs = [
        f"{namespace}.predictions",
        *(f"{benchmark}.{table}" for table in ("questions", "passages", "rejected")),
        f"params:benchmarks.{benchmark}",
    ]
    return [node(submit, inputs, f"{namespace}.submission", name="submit", namespace=namespace)]
