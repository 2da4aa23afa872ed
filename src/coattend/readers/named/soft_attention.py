"""Soft attention."""

from coattend.readers.registry import NamedReader

READER = NamedReader(
    title="Soft attention",
    paper="Bahdanau, Cho, Bengio 2015, as in DUMA, table 6",
    interaction="soft_attention",
    heads=("options",),
    defaults={"pooling": "mean"},
)
