"""POI-Net: POS embedding and iterative co-attention."""

from coattend.readers.registry import NamedReader

READER = NamedReader(
    title="POI-Net",
    paper="Zhao, Zhao, Shen, Zhao: Lite Unified Modeling for Discriminative Reading Comprehension, ACL 2022",
    interaction="iterative_co_attention",
    heads=("options", "span", "word"),
    defaults={"tag_embedding": True, "turns": 3, "strategy": "forgetting", "pooling": "max", "fuse": "joint"},
)
