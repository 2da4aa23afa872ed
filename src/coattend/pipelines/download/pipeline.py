"""The download pipeline of one benchmark."""

from kedro.pipeline import Pipeline, node

from coattend.pipelines.download.nodes import download


def create_pipeline(benchmark: str) -> Pipeline:
    """Fetch a benchmark's files: node ``<benchmark>.download``.

    Args:
        benchmark: Its name.
    """
    return Pipeline(
        [node(download, "params:benchmark", "downloads", name="download")],
        namespace=benchmark,
        parameters={"params:benchmark": f"params:benchmarks.{benchmark}"},
    )
