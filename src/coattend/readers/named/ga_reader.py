"""GA Reader: gated attention in hops."""

from coattend.readers.registry import NamedReader

READER = NamedReader(
    title="GA Reader",
    paper="Dhingra, Liu, Yang, Cohen, Salakhutdinov: Gated-Attention Readers for Text Comprehension, ACL 2017",
    encoder="recurrent",
    interaction="gated",
    heads=("word",),
    defaults={"cell": "gru", "shared": True, "hidden": 128, "hops": 3, "hop_dropout": 0.2, "normalise": "candidates"},
)
