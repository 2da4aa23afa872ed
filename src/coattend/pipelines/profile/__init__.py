"""The profile of a benchmark: what it is made of, beside what its publishers say."""

from coattend.pipelines.profile.pipeline import create_nodes

__all__ = ["create_nodes"]
