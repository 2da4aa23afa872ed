"""Training: a reader on a benchmark, one trial a seed."""

from coattend.pipelines.training.pipeline import create_nodes

__all__ = ["create_nodes"]
