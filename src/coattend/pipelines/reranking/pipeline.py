"""The re-ranking pipeline of one reader on one benchmark."""

from kedro.pipeline import Pipeline, node

from coattend.pipelines.reranking.nodes import rerank


def create_pipeline(benchmark: str, reader: str, *, trained_on: str, tagging: str) -> Pipeline:
    """Rank a cloze reader's best candidates again: node ``<benchmark>.<reader>.rerank``.

    Args:
        benchmark: Name of the benchmark.
        reader: Name of the reader's entry.
        trained_on: Name of the benchmark that it was trained on.
        tagging: Tagging profile whose tags make classes of words.
    """
    tables = {name: f"{benchmark}.{name}" for name in ("questions", "passages")}
    return Pipeline(
        [
            node(
                rerank,
                ["predictions", *tables, "tags", "model", "params:benchmark"],
                ["reranked", "reranking"],
                name="rerank",
            )
        ],
        namespace=f"{benchmark}.{reader}",
        inputs=tables
        | {
            "predictions": f"{benchmark}.{reader}.predictions",
            "tags": f"{benchmark}.{tagging}.tags",
            "model": f"{trained_on}.{reader}.model",
        },
        parameters={"params:benchmark": f"params:benchmarks.{benchmark}"},
    )
