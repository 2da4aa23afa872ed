"""The training pipeline of one reader on one benchmark."""

import warnings
from functools import partial

from kedro.pipeline import Pipeline, node

from coattend.pipelines.preview import architecture_preview
from coattend.pipelines.training.nodes import train

# Kedro says at every command that this part of it is new.
warnings.filterwarnings("ignore", message="The 'preview_fn' feature is experimental")

SHARED = ("questions", "passages")
"""Tables of the benchmark that its readers share."""


def create_pipeline(benchmark: str, reader: str, *, tagging: str, encoder: str, tokenizer: str) -> Pipeline:
    """Train a reader: node ``<benchmark>.<reader>.train``.

    Args:
        benchmark: Name of the benchmark.
        reader: Name of the reader's entry.
        tagging: Tagging profile of its tags.
        encoder: Its encoder.
        tokenizer: Tokenizer profile of its tokens.
    """
    tokens = f"{benchmark}.{tagging}.{tokenizer}.tokens"
    return Pipeline(
        [
            node(
                train,
                [
                    *SHARED,
                    "tokens",
                    "trials",
                    "params:benchmark",
                    "params:reader",
                    "params:encoder",
                    "params:tokenizer",
                ],
                "model",
                name="train",
                tags="gpu",
                preview_fn=partial(architecture_preview, benchmark, reader),
            )
        ],
        namespace=f"{benchmark}.{reader}",
        inputs={name: f"{benchmark}.{name}" for name in SHARED} | {"tokens": tokens, "trials": "trials"},
        parameters=model_parameters(benchmark, reader, encoder, tokenizer),
    )


def model_parameters(benchmark: str, reader: str, encoder: str, tokenizer: str) -> dict[str, str]:
    """The parameters that training and prediction read."""
    return {
        "params:benchmark": f"params:benchmarks.{benchmark}",
        "params:reader": f"params:readers.{reader}",
        "params:encoder": f"params:encoders.{encoder}",
        "params:tokenizer": f"params:tokenizers.{tokenizer}",
    }
