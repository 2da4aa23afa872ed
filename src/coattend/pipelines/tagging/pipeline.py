"""Nodes of the tagging pipeline for one profile on one benchmark."""

from kedro.pipeline import node
from kedro.pipeline.node import Node

from coattend.pipelines.tagging.nodes import tag


def create_nodes(benchmark: str, tagging: str) -> list[Node]:
    """Tag the texts of a benchmark: node ``<benchmark>.tag_<tagging>``."""
    inputs = {
        "texts": f"{benchmark}.texts",
        "tagged_before": "tagged_before",
        "tagging": f"params:taggings.{tagging}",
        "benchmark": f"params:benchmarks.{benchmark}",
        "engine": "params:engine",
    }
    return [node(tag, inputs, f"{benchmark}.{tagging}.tags", name=f"tag_{tagging}", namespace=benchmark)]
