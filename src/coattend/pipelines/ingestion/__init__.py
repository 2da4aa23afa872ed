"""The ingestion stage: raw files as the common tables, and each distinct text once."""

from coattend.pipelines.ingestion.pipeline import create_nodes

__all__ = ["create_nodes"]
