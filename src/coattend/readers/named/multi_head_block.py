"""Multi-head co-attention."""

from coattend.readers.registry import NamedReader

READER = NamedReader(
    title="Multi-head co-attention",
    paper="Zhao et al. 2022 (POI-Net), table 7 and figure 4",
    interaction="multi_head_block",
    heads=("options", "span"),
    defaults={"tag_embedding": True, "hidden_tag_embedding": True, "pooling": "max"},
)
