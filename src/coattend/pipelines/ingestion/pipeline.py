"""The ingestion pipeline of one benchmark."""

from kedro.pipeline import Pipeline, node

from coattend.pipelines.ingestion.nodes import distinct_texts, generate, ingest


def create_pipeline(benchmark: str, *, generated: bool, written: bool) -> Pipeline:
    """Read a benchmark: nodes ``<benchmark>.ingest``, ``.distinct_texts`` and, if it is generated, ``.generate``.

    Args:
        benchmark: Its name.
        generated: Whether its raw files are written by the sample's generator, here.
        written: Whether they are written by this project at all.
    """
    read = ["params:benchmark", "raw"] if written else ["params:benchmark"]
    nodes = [
        node(ingest, read, ["passages", "questions", "rejected"], name="ingest"),
        node(distinct_texts, ["passages", "questions", "params:benchmark"], "texts", name="distinct_texts"),
    ]
    if generated:
        nodes.insert(0, node(generate, "params:benchmark", "raw", name="generate"))
    return Pipeline(nodes, namespace=benchmark, parameters={"params:benchmark": f"params:benchmarks.{benchmark}"})
