"""How good answers are, how sure that is, and whether one reader is better than another. Knows numpy and pyarrow."""

from coattend.evaluation import squad

__all__ = ["squad"]
