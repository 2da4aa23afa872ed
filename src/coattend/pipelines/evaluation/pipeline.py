"""The evaluation pipeline of one reader on one benchmark."""

import warnings

from kedro.pipeline import Pipeline, node

from coattend.pipelines.evaluation.nodes import predict, score
from coattend.pipelines.training.pipeline import SHARED, model_parameters, named, texts_of

# A benchmark without training questions is scored with the readers of another, whose names begin with that one's.
warnings.filterwarnings("ignore", message="One or more dataset names contain")


def create_pipeline(
    benchmark: str, reader: str, *, trained_on: str, tagging: str, encoder: str, tokenizer: str, reads_words: bool
) -> Pipeline:
    """Answer and score: nodes ``<benchmark>.<reader>.predict`` and ``<benchmark>.<reader>.score``.

    Args:
        benchmark: Name of the benchmark.
        reader: Name of the reader's entry.
        trained_on: Name of the benchmark that it was trained on.
        tagging: Tagging profile of its tags.
        encoder: Its encoder.
        tokenizer: Tokenizer profile of its tokens.
        reads_words: Whether it reads the tagging stage's words, and subwords at most beside them.
    """
    texts = texts_of(benchmark, tagging, tokenizer, reads_words=reads_words)
    parameters = model_parameters(benchmark, reader, encoder, tokenizer) | {
        "params:tagging": f"params:taggings.{tagging}",
        "params:benchmarks": "params:benchmarks",
    }
    return Pipeline(
        [
            node(
                predict,
                named(["model", *SHARED, *texts, "trials", *parameters]),
                ["predictions", "rejected_questions"],
                name="predict",
                tags="gpu",
            ),
            node(
                score,
                ["predictions", *SHARED, "model", "params:benchmark", "rejected_questions"],
                "metrics",
                name="score",
            ),
        ],
        namespace=f"{benchmark}.{reader}",
        inputs={name: f"{benchmark}.{name}" for name in SHARED}
        | texts
        | {"trials": "trials", "model": f"{trained_on}.{reader}.model"},
        parameters=parameters,
    )
