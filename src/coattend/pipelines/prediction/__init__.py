"""Prediction: what a trained reader answers to a file of questions."""

from coattend.pipelines.prediction.pipeline import create_pipeline

__all__ = ["create_pipeline"]
