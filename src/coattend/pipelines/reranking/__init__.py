"""Re-ranking: a cloze reader's best candidates, ranked again with language models."""

from coattend.pipelines.reranking.pipeline import create_nodes

__all__ = ["create_nodes"]
