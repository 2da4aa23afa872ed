"""DCN: coattention and a dynamic decoder."""

from coattend.readers.registry import NamedReader

READER = NamedReader(
    title="DCN",
    paper="Xiong, Zhong, Socher: Dynamic Coattention Networks for Question Answering, ICLR 2017",
    encoder="recurrent",
    interaction="coattention",
    heads=("dynamic_span", "span"),
    defaults={"cell": "lstm", "shared": True, "hidden": 200, "dropout": 0.2, "directions": 1},
)
