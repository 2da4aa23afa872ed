"""The validation stage: all that is wrong with a benchmark's raw files, at once."""

from coattend.pipelines.validate.pipeline import create_nodes

__all__ = ["create_nodes"]
