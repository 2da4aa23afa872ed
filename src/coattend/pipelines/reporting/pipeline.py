"""Nodes of the reporting pipeline for one benchmark."""

from collections.abc import Sequence

from kedro.pipeline import node
from kedro.pipeline.node import Node

from coattend.pipelines.reporting.nodes import compare


def create_nodes(benchmark: str, readers: Sequence[str]) -> list[Node]:
    """Compare all readers of a benchmark: node ``<benchmark>.compare``. Those that were not run are shown as such."""
    shared = {"benchmark": f"params:benchmarks.{benchmark}"} | {
        name: f"{benchmark}.{name}" for name in ("questions", "rejected")
    }
    answered = {
        f"{reader}.{part}": f"{benchmark}.{reader}.{part}" for reader in readers for part in ("metrics", "predictions")
    }
    outputs = [f"{benchmark}.{name}" for name in ("results", "page_markdown", "page", "chart")]
    return [node(compare, shared | answered, outputs, name="compare", namespace=benchmark)]
