"""Nodes of the export pipeline for one benchmark."""

from kedro.pipeline import node
from kedro.pipeline.node import Node

from coattend.pipelines.export.nodes import export_scores, export_task


def create_nodes(benchmark: str) -> list[Node]:
    """Write a benchmark for others: nodes ``<benchmark>.export_task`` (lm-evaluation-harness) and ``.export_scores``
    (EuroEval)."""
    questions, parameters = f"{benchmark}.questions", [f"params:benchmarks.{benchmark}", "params:export"]
    task = [f"{benchmark}.harness_files", f"{benchmark}.harness_tables"]
    scored = [f"{benchmark}.answered_before", questions, "trials", *parameters]
    return [
        node(
            export_task,
            [questions, f"{benchmark}.passages", *parameters],
            task,
            name="export_task",
            namespace=benchmark,
        ),
        node(export_scores, scored, f"{benchmark}.euroeval", name="export_scores", namespace=benchmark),
    ]
