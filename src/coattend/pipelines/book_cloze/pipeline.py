"""The book_cloze pipeline of one benchmark."""

from kedro.pipeline import Pipeline, node

from coattend.pipelines.book_cloze.nodes import make_clozes


def create_pipeline(benchmark: str, tagging: str) -> Pipeline:
    """Write the raw files of a benchmark that is made from books: node ``<benchmark>.make_clozes``.

    Args:
        benchmark: Its name.
        tagging: Name of the tagging profile that tells names and nouns.
    """
    return Pipeline(
        [node(make_clozes, ["params:benchmark", "params:tagging", "params:engine"], "raw", name="make_clozes")],
        namespace=benchmark,
        parameters={
            "params:benchmark": f"params:benchmarks.{benchmark}",
            "params:tagging": f"params:taggings.{tagging}",
            "params:engine": "params:engine",
        },
    )
