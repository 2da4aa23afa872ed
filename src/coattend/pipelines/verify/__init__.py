"""Verification: whether a finished run can be had again from what it left behind."""

from coattend.pipelines.verify.pipeline import create_pipeline

__all__ = ["create_pipeline"]
