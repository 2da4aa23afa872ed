"""The submission pipeline of one reader on one benchmark."""

from kedro.pipeline import Pipeline, node

from coattend.pipelines.submission.nodes import submit


def create_pipeline(benchmark: str, reader: str) -> Pipeline:
    """Write what the benchmark's scorer reads: node ``<benchmark>.<reader>.submit``.

    Args:
        benchmark: Name of the benchmark.
        reader: Name of the reader's entry.
    """
    tables = ["predictions", "questions", "passages", "rejected"]
    return Pipeline(
        [node(submit, [*tables, "params:benchmark"], "submission", name="submit")],
        namespace=f"{benchmark}.{reader}",
        inputs={name: f"{benchmark}.{name}" for name in tables[1:]}
        | {"predictions": f"{benchmark}.{reader}.predictions"},
        parameters={"params:benchmark": f"params:benchmarks.{benchmark}"},
    )
