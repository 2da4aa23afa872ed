"""The validation pipeline of one benchmark."""

from kedro.pipeline import Pipeline, node

from coattend.pipelines.validate.nodes import find_problems, tell


def create_pipeline(benchmark: str) -> Pipeline:
    """Look at a benchmark's raw files: nodes ``<benchmark>.find_problems`` and ``.tell``, which fails if there are any.

    Args:
        benchmark: Its name.
    """
    return Pipeline(
        [
            node(find_problems, "params:benchmark", "problems", name="find_problems"),
            node(tell, ["problems", "params:benchmark"], None, name="tell"),
        ],
        namespace=benchmark,
        parameters={"params:benchmark": f"params:benchmarks.{benchmark}"},
    )
