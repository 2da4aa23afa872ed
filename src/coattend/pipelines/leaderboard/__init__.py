"""Leaderboard: how long configurations train until they reach a score."""

from coattend.pipelines.leaderboard.pipeline import create_pipeline

__all__ = ["create_pipeline"]
