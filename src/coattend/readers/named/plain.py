"""The baseline: an encoder and a linear layer."""

from coattend.readers.registry import NamedReader

READER = NamedReader(
    title="Plain encoder",
    paper="The baseline of both papers; they score the pooled [CLS] (pooling: cls_pooler), this pools the mean.",
    heads=("options", "span", "word"),
    defaults={"pooling": "mean"},
)
