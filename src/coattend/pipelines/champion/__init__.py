"""Champion: the best trained reader of a benchmark, in MLflow's registry."""

from coattend.pipelines.champion.pipeline import create_pipeline

__all__ = ["create_pipeline"]
