"""Submission: predictions in the form that a benchmark's own scorer reads."""

from coattend.pipelines.submission.pipeline import create_nodes

__all__ = ["create_nodes"]
