"""BiDAF."""

from coattend.readers.registry import NamedReader

READER = NamedReader(
    title="BiDAF",
    paper="Seo, Kembhavi, Farhadi, Hajishirzi 2017, as in DUMA, table 6",
    interaction="bidaf",
    heads=("options", "span"),
    defaults={"pooling": "mean"},
)
