"""AS Reader: attention sum."""

from coattend.readers.registry import NamedReader

READER = NamedReader(
    title="AS Reader",
    paper="Kadlec, Schmid, Bajgar, Kleindienst: Text Understanding with the Attention Sum Reader Network, ACL 2016",
    encoder="recurrent",
    interaction="attention_sum",
    heads=("word",),
    defaults={"cell": "gru", "shared": True, "hidden": 256},
)
