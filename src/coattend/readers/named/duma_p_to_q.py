"""DUMA, P-to-Q only."""

from coattend.readers.registry import NamedReader

READER = NamedReader(
    title="DUMA, P-to-Q only",
    paper="Zhu, Zhao, Li: Dual Multi-head Co-attention for Multi-choice Reading Comprehension, table 9",
    interaction="dual_multi_head",
    heads=("options", "span"),
    defaults={"direction": "passage_to_question", "pooling": "mean"},
)
