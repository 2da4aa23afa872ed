"""The re-ranking pipeline of one reader on one benchmark."""

from kedro.pipeline import node
from kedro.pipeline.node import Node

from coattend.pipelines.reranking.nodes import rerank


def create_nodes(benchmark: str, reader: str, *, trained_on: str) -> list[Node]:
    """Rank a cloze reader's best candidates again: node ``<benchmark>.<reader>.rerank``."""
    namespace = f"{benchmark}.{reader}"
    inputs = {
        "predictions": f"{namespace}.predictions",
        "questions": f"{benchmark}.questions",
        "passages": f"{benchmark}.passages",
        "model": f"{trained_on}.{reader}.model",
        "benchmark": f"params:benchmarks.{benchmark}",
    }
    outputs = [f"{namespace}.reranked", f"{namespace}.reranking"]
    return [node(rerank, inputs, outputs, name="rerank", namespace=namespace)]
