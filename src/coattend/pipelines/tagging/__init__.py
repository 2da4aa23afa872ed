"""The tagging stage: words and part-of-speech tags of each distinct text."""

from coattend.pipelines.tagging.pipeline import create_nodes

__all__ = ["create_nodes"]
