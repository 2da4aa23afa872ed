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


def create_pipeline(
    benchmark: str, reader: str, *, tagging: str, encoder: str, tokenizer: str, reads_words: bool
) -> Pipeline:
    """Train a reader: node ``<benchmark>.<reader>.train``.

    Args:
        benchmark: Name of the benchmark.
        reader: Name of the reader's entry.
        tagging: Tagging profile of its tags.
        encoder: Its encoder.
        tokenizer: Tokenizer profile of its tokens.
        reads_words: Whether it reads the tagging stage's words, and subwords at most beside them.
    """
    texts = texts_of(benchmark, tagging, tokenizer, reads_words=reads_words)
    parameters = model_parameters(benchmark, reader, encoder, tokenizer)
    return Pipeline(
        [
            node(
                train,
                named([*SHARED, *texts, "trials", *parameters]),
                "model",
                name="train",
                tags="gpu",
                preview_fn=partial(architecture_preview, benchmark, reader),
            )
        ],
        namespace=f"{benchmark}.{reader}",
        inputs={name: f"{benchmark}.{name}" for name in SHARED} | texts | {"trials": "trials"},
        parameters=parameters,
    )


def texts_of(benchmark: str, tagging: str, tokenizer: str, *, reads_words: bool) -> dict[str, str]:
    """The tables of texts that a reader reads, by the name of the argument."""
    tags, tokens = f"{benchmark}.{tagging}.tags", f"{benchmark}.{tagging}.{tokenizer}.tokens"
    return {"tokens": tokens} | ({"tags": tags} if reads_words else {})


def named(inputs: list[str]) -> dict[str, str]:
    """A node's inputs by the name of the argument that takes them."""
    return {name.removeprefix("params:"): name for name in inputs}


def model_parameters(benchmark: str, reader: str, encoder: str, tokenizer: str) -> dict[str, str]:
    """The parameters that training and prediction read."""
    return {
        "params:benchmark": f"params:benchmarks.{benchmark}",
        "params:reader": f"params:readers.{reader}",
        "params:encoder": f"params:encoders.{encoder}",
        "params:tokenizer": f"params:tokenizers.{tokenizer}",
        "params:engine": "params:engine",
    }
