"""DCN+ with DCN's encoder in the place of deep residual coattention."""

from coattend.readers.registry import NamedReader

READER = NamedReader(
    title="DCN+ without deep residual coattention",
    paper="Xiong, Zhong, Socher: DCN+: Mixed Objective and Deep Residual Coattention for Question Answering, ICLR 2018",
    encoder="recurrent",
    interaction="coattention",
    heads=("dynamic_span",),
    defaults={
        "cell": "lstm",
        "shared": True,
        "hidden": 200,
        "dropout": 0.2,
        "context": True,
        "character_width": 100,
        "word_dropout": 0.075,
        "directions": 1,
        "experts": True,
        "objective": "mixed",
    },
)
