"""Metrics, intervals, significance tests and error analysis over predictions tables; numpy and pyarrow only."""

from coattend.evaluation import squad

__all__ = ["squad"]
