"""Nodes of the book_cloze pipeline for one benchmark."""

from kedro.pipeline import node
from kedro.pipeline.node import Node

from coattend.pipelines.book_cloze.nodes import make_clozes


def create_nodes(benchmark: str, tagging: str) -> list[Node]:
    """Write the raw files of a benchmark that is made from books: node ``<benchmark>.make_clozes``."""
    parameters = [f"params:benchmarks.{benchmark}", f"params:taggings.{tagging}", "params:engine"]
    return [node(make_clozes, parameters, f"{benchmark}.raw", name="make_clozes", namespace=benchmark)]
