"""The ingestion stage: raw files as the common tables, and each distinct text once."""

from coattend.pipelines.ingestion.pipeline import create_pipeline

__all__ = ["create_pipeline"]
