"""Nodes of the profile pipeline for one benchmark."""

from kedro.pipeline import node
from kedro.pipeline.node import Node

from coattend.pipelines.profile.nodes import draw_profile, profile


def create_nodes(benchmark: str, tagging: str, tokenizer: str) -> list[Node]:
    """Measure a benchmark: nodes ``<benchmark>.profile`` and ``<benchmark>.draw_profile``.

    Words and tags are counted in a tagging profile's table, tokens in a tokenizer profile's.
    """
    parameters, measured = f"params:benchmarks.{benchmark}", f"{benchmark}.profile"
    inputs = {
        "passages": f"{benchmark}.passages",
        "questions": f"{benchmark}.questions",
        "rejected": f"{benchmark}.rejected",
        "tags": f"{benchmark}.{tagging}.tags",
        "tokens": f"{benchmark}.{tagging}.{tokenizer}.tokens",
        "benchmark": parameters,
        "tagging": f"params:taggings.{tagging}",
        "tokenizer": f"params:tokenizers.{tokenizer}",
    }
    page = f"{benchmark}.profile_page"
    return [
        node(profile, inputs, measured, name="profile", namespace=benchmark),
        node(draw_profile, [measured, parameters], page, name="draw_profile", namespace=benchmark),
    ]
