"""Reporting: the readers of a benchmark side by side."""

from coattend.pipelines.reporting.pipeline import create_nodes

__all__ = ["create_nodes"]
