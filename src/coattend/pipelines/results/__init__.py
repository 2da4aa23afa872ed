"""Results: one page of all studies that were run."""

from coattend.pipelines.results.pipeline import create_pipeline

__all__ = ["create_pipeline"]
