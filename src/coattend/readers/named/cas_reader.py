"""CAS Reader: consensus attention."""

from coattend.readers.registry import NamedReader

READER = NamedReader(
    title="CAS Reader",
    paper="Cui, Liu, Chen, Wang, Hu: Consensus Attention-based Neural Networks for Chinese Reading ..., COLING 2016",
    encoder="recurrent",
    interaction="consensus_attention",
    heads=("word",),
    defaults={"cell": "gru", "shared": True, "hidden": 256, "merge": "sum"},
)
