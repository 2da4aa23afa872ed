"""The book_cloze stage: cloze questions from a folder of books."""

from coattend.pipelines.book_cloze.pipeline import create_nodes

__all__ = ["create_nodes"]
