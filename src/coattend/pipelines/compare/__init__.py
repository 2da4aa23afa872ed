"""Compare: two trials, question by question."""

from coattend.pipelines.compare.pipeline import create_pipeline

__all__ = ["create_pipeline"]
