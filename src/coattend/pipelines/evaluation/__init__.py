"""Evaluation: what a trained reader answers, and how well."""

from coattend.pipelines.evaluation.pipeline import create_nodes, create_untrained_nodes

__all__ = ["create_nodes", "create_untrained_nodes"]
