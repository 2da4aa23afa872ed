"""The download stage: a benchmark's published files."""

from coattend.pipelines.download.pipeline import create_pipeline

__all__ = ["create_pipeline"]
