"""POI-Net without co-attention."""

from coattend.readers.registry import NamedReader

READER = NamedReader(
    title="POI-Net without co-attention",
    paper="Zhao et al. 2022 (POI-Net), table 4",
    interaction="none",
    heads=("options", "span"),
    defaults={"tag_embedding": True, "pooling": "max"},
)
