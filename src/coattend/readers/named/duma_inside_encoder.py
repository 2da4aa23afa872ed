"""DUMA inside the encoder."""

from coattend.readers.registry import NamedReader

READER = NamedReader(
    title="SA+CA",
    paper="Zhu, Zhao, Li: Dual Multi-head Co-attention for Multi-choice Reading Comprehension, table 11",
    heads=("options", "span"),
    defaults={"co_attention": True, "pooling": "mean", "fuse": "concatenate"},
)
