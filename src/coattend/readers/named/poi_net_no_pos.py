"""POI-Net without POS embedding."""

from coattend.readers.registry import NamedReader

READER = NamedReader(
    title="POI-Net without POS embedding",
    paper="Zhao et al. 2022 (POI-Net), table 4",
    interaction="iterative_co_attention",
    heads=("options", "span"),
    defaults={"tag_embedding": False, "pooling": "max"},
)
