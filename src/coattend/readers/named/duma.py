"""DUMA: dual multi-head co-attention."""

from coattend.readers.registry import NamedReader

READER = NamedReader(
    title="DUMA",
    paper="Zhu, Zhao, Li: Dual Multi-head Co-attention for Multi-choice Reading Comprehension, arXiv 2001.09415",
    interaction="dual_multi_head",
    heads=("options", "span", "word"),
    defaults={"pooling": "mean", "fuse": "concatenate"},
)
