"""Export: a benchmark and its readers' scores in the forms of lm-evaluation-harness and EuroEval."""

from coattend.pipelines.export.pipeline import create_nodes

__all__ = ["create_nodes"]
