"""The tagging stage: words and part-of-speech tags of each distinct text."""

from coattend.pipelines.tagging.pipeline import create_pipeline

__all__ = ["create_pipeline"]
