"""TB-DUMA."""

from coattend.readers.registry import NamedReader

READER = NamedReader(
    title="TB-DUMA",
    paper="Zhu, Zhao, Li: Dual Multi-head Co-attention for Multi-choice Reading Comprehension, table 5",
    interaction="dual_multi_head",
    heads=("options",),
    defaults={"block": "transformer", "pooling": "mean", "fuse": "concatenate"},
)
