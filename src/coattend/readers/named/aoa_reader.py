"""AoA Reader: attention over attention, summed over occurrences."""

from coattend.readers.registry import NamedReader

READER = NamedReader(
    title="AoA Reader",
    paper="Cui, Chen, Wei, Wang, Liu, Hu: Attention-over-Attention Neural Networks for Reading Comprehension, ACL 2017",
    encoder="recurrent",
    interaction="attention_over_attention",
    heads=("word",),
    defaults={"cell": "gru", "shared": True, "hidden": 256, "dropout": 0.1},
)
