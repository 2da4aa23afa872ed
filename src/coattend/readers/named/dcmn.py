"""DCMN: the dual co-matching network."""

from coattend.readers.registry import NamedReader

READER = NamedReader(
    title="DCMN",
    paper="Zhang, Zhao, Wu, Zhang, Zhou, Zhou: Dual Co-Matching Network, arXiv 1901.09381, as in DUMA, table 6",
    interaction="dcmn",
    heads=("options",),
    defaults={"pooling": "summary"},
)
