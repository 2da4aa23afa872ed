"""Studies: a paper's table or figure, trained, tested and printed beside the paper's own numbers."""

from coattend.pipelines.study.pipeline import create_nodes

__all__ = ["create_nodes"]
