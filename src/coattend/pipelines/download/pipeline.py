"""Nodes of the download pipeline for one benchmark."""

from kedro.pipeline import node
from kedro.pipeline.node import Node

from coattend.pipelines.download.nodes import download


def create_nodes(benchmark: str) -> list[Node]:
    """Fetch a benchmark's files: node ``<benchmark>.download``."""
    parameters, downloads = f"params:benchmarks.{benchmark}", f"{benchmark}.downloads"
    return [node(download, parameters, downloads, name="download", namespace=benchmark)]
