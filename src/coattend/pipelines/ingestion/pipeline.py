"""Nodes of the ingestion pipeline for one benchmark."""

from kedro.pipeline import node
from kedro.pipeline.node import Node

from coattend.pipelines.ingestion.nodes import distinct_texts, generate, ingest


def create_nodes(benchmark: str, *, generated: bool, written: bool) -> list[Node]:
    """Read a benchmark: nodes ``<benchmark>.ingest``, ``.distinct_texts`` and, if it is generated, ``.generate``.

    Args:
        benchmark: Its name.
        generated: True if the sample's generator writes its raw files in this pipeline.
        written: True if this project writes its raw files at all.
    """
    parameters, raw = f"params:benchmarks.{benchmark}", f"{benchmark}.raw"
    passages, questions, rejected = (f"{benchmark}.{table}" for table in ("passages", "questions", "rejected"))
    inputs = [parameters, raw] if written else [parameters]
    stored, texts = [passages, questions, parameters], f"{benchmark}.texts"
    nodes = [
        node(ingest, inputs, [passages, questions, rejected], name="ingest", namespace=benchmark),
        node(distinct_texts, stored, texts, name="distinct_texts", namespace=benchmark),
    ]
    if generated:
        nodes.insert(0, node(generate, parameters, raw, name="generate", namespace=benchmark))
    return nodes
