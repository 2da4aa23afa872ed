"""Batch invariance: how many answers depend on what a question shares its batch with."""

from coattend.pipelines.batch_invariance.pipeline import create_pipeline

__all__ = ["create_pipeline"]
