"""The download stage: a benchmark's published files."""

from coattend.pipelines.download.pipeline import create_nodes

__all__ = ["create_nodes"]
