"""The tokenization stage: subword tokens of each distinct text, each with the tag of its word."""

from coattend.pipelines.tokenization.pipeline import create_nodes

__all__ = ["create_nodes"]
