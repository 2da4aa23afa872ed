"""DCN+: deep residual coattention, mixed objective, mixture of experts."""

from coattend.readers.registry import NamedReader

READER = NamedReader(
    title="DCN+",
    paper="Xiong, Zhong, Socher: DCN+: Mixed Objective and Deep Residual Coattention for Question Answering, ICLR 2018",
    encoder="recurrent",
    interaction="deep_residual_coattention",
    heads=("dynamic_span",),
    defaults={
        "cell": "lstm",
        "shared": True,
        "hidden": 200,
        "dropout": 0.2,
        "context": True,
        "character_width": 100,
        "word_dropout": 0.075,
        "experts": True,
        "objective": "mixed",
    },
)
