"""The evaluation pipeline of one reader on one benchmark."""

from kedro.pipeline import Pipeline, node

from coattend.pipelines.evaluation.nodes import predict, score
from coattend.pipelines.training.pipeline import SHARED, model_parameters


def create_pipeline(benchmark: str, reader: str, *, tagging: str, encoder: str, tokenizer: str) -> Pipeline:
    """Answer and score: nodes ``<benchmark>.<reader>.predict`` and ``<benchmark>.<reader>.score``.

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
                predict,
                ["model", *SHARED, "tokens", "trials", *model_parameters(benchmark, reader, encoder, tokenizer)],
                ["predictions", "rejected_questions"],
                name="predict",
                tags="gpu",
            ),
            node(score, ["predictions", "questions", "model"], "metrics", name="score"),
        ],
        namespace=f"{benchmark}.{reader}",
        inputs={name: f"{benchmark}.{name}" for name in SHARED}
        | {"tokens": tokens, "trials": "trials", "model": f"{benchmark}.{reader}.model"},
        parameters=model_parameters(benchmark, reader, encoder, tokenizer),
    )
