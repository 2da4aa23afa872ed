"""Trials: a list of all that are finished."""

from coattend.pipelines.trials.pipeline import create_pipeline

__all__ = ["create_pipeline"]
