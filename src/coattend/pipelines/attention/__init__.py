"""Attention: what trained readers look at, question by question."""

from coattend.pipelines.attention.pipeline import create_pipeline, study_nodes

__all__ = ["create_pipeline", "study_nodes"]
