"""Nodes of the reporting pipeline for one benchmark."""

from collections.abc import Iterable

from kedro.pipeline import node
from kedro.pipeline.node import Node

from coattend.pipelines.reporting.nodes import compare


def create_nodes(benchmark: str, readers: Iterable[str]) -> list[Node]:
    """Compare a benchmark's readers: node ``<benchmark>.compare``, which waits for those that its pipeline scores and
    looks the others up."""
    inputs = {"benchmark": f"params:benchmarks.{benchmark}"} | {
        name: f"{benchmark}.{name}" for name in ("questions", "passages", "rejected", "answered_before")
    }
    inputs |= {reader: f"{benchmark}.{reader}.metrics" for reader in readers}
    outputs = [f"{benchmark}.{name}" for name in ("results", "page_markdown", "page", "chart")]
    return [node(compare, inputs, outputs, name="compare", namespace=benchmark)]
