"""Stanford Attentive Reader."""

from coattend.readers.registry import NamedReader

READER = NamedReader(
    title="Stanford Reader",
    paper="Chen, Bolton, Manning: A Thorough Examination of the CNN/Daily Mail Reading Comprehension Task, ACL 2016",
    encoder="recurrent",
    interaction="bilinear",
    heads=("vocabulary",),
    defaults={"cell": "gru", "shared": True, "hidden": 128, "dropout": 0.2},
)
