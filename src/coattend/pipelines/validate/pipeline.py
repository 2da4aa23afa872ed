"""Nodes of the validation pipeline for one benchmark."""

from kedro.pipeline import node
from kedro.pipeline.node import Node

from coattend.pipelines.validate.nodes import find_problems, report_problems


def create_nodes(benchmark: str) -> list[Node]:
    """Check a benchmark's raw files: nodes ``<benchmark>.find_problems``, and ``.report_problems``, failing at any."""
    parameters, problems = f"params:benchmarks.{benchmark}", f"{benchmark}.problems"
    reported = [problems, parameters, "stored_tables"]
    return [
        node(find_problems, parameters, problems, name="find_problems", namespace=benchmark),
        node(report_problems, reported, None, name="report_problems", namespace=benchmark),
    ]
