"""Attention: what trained readers look at, question by question."""

from coattend.pipelines.attention.pipeline import create_pipeline

__all__ = ["create_pipeline"]
