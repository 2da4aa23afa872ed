"""Attentive Reader."""

from coattend.readers.registry import NamedReader

READER = NamedReader(
    title="Attentive Reader",
    paper="Hermann et al.: Teaching Machines to Read and Comprehend, NIPS 2015",
    encoder="recurrent",
    interaction="attentive",
    heads=("vocabulary",),
    defaults={"cell": "lstm", "shared": True, "hidden": 256},
)
