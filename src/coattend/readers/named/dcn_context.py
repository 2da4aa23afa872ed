"""DCN with context vectors: the baseline of DCN+."""

from coattend.readers.registry import NamedReader

READER = NamedReader(
    title="DCN with context vectors",
    paper="McCann, Bradbury, Xiong, Socher: Learned in Translation: Contextualized Word Vectors, NIPS 2017",
    encoder="recurrent",
    interaction="coattention",
    heads=("dynamic_span",),
    defaults={"cell": "lstm", "shared": True, "hidden": 200, "dropout": 0.2, "directions": 1, "context": True},
)
