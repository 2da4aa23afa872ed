"""Nodes of the tokenization pipeline for one tokenizer over one tagging of a benchmark."""

from kedro.pipeline import node
from kedro.pipeline.node import Node

from coattend.pipelines.tokenization.nodes import tokenize


def create_nodes(benchmark: str, tagging: str, tokenizer: str) -> list[Node]:
    """Tokenise the texts of a benchmark: node ``<benchmark>.tokenize_<tagging>_<tokenizer>``."""
    inputs = {
        "texts": f"{benchmark}.texts",
        "tags": f"{benchmark}.{tagging}.tags",
        "tokenizer": f"params:tokenizers.{tokenizer}",
        "benchmark": f"params:benchmarks.{benchmark}",
        "engine": "params:engine",
    }
    tokens = f"{benchmark}.{tagging}.{tokenizer}.tokens"
    return [node(tokenize, inputs, tokens, name=f"tokenize_{tagging}_{tokenizer}", namespace=benchmark)]
