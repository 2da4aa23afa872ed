"""Share: a trained reader for others, as a folder and on the Hugging Face Hub."""

from coattend.pipelines.share.pipeline import create_pipeline

__all__ = ["create_pipeline"]
