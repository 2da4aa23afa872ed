"""ReCAM DUMA."""

from coattend.readers.registry import NamedReader

READER = NamedReader(
    title="ReCAM DUMA",
    paper="zzshou/RCAM (read-me, in Chinese): DUMA for SemEval-2021 task 4",
    interaction="sequential_multi_head",
    heads=("options", "span"),
    defaults={"pooling": "mean", "fuse": "concatenate"},
)
