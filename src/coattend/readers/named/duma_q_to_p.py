"""DUMA, Q-to-P only."""

from coattend.readers.registry import NamedReader

READER = NamedReader(
    title="DUMA, Q-to-P only",
    paper="Zhu, Zhao, Li: Dual Multi-head Co-attention for Multi-choice Reading Comprehension, table 9",
    interaction="dual_multi_head",
    heads=("options",),
    defaults={"direction": "question_to_passage", "pooling": "mean"},
)
