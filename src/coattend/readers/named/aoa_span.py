"""The interactive AoA Reader: attention over attention with a span head."""

from coattend.readers.registry import NamedReader

READER = NamedReader(
    title="Interactive AoA Reader",
    paper="Cui et al.: Attention-over-Attention Neural Networks, slides of 2017, last part",
    encoder="recurrent",
    interaction="attention_over_attention",
    heads=("span", "dynamic_span"),
    defaults={"cell": "gru", "shared": True, "hidden": 256, "dropout": 0.2, "modelling": 128},
)
