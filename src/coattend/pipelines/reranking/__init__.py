"""Re-ranking: a cloze reader's best candidates, ranked again with language models."""

from coattend.pipelines.reranking.pipeline import create_pipeline

__all__ = ["create_pipeline"]
