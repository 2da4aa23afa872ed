"""Champion: the best trained reader of a benchmark, in MLflow's registry."""

from coattend.pipelines.champion.pipeline import create_nodes

__all__ = ["create_nodes"]
