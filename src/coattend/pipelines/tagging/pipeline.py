"""The tagging pipeline of one profile on one benchmark."""

from kedro.pipeline import Pipeline, node

from coattend.pipelines.tagging.nodes import tag


def create_pipeline(benchmark: str, tagging: str) -> Pipeline:
    """Tag the texts of a benchmark: node ``<benchmark>.tag_<tagging>``.

    Args:
        benchmark: Name of the benchmark.
        tagging: Name of the tagging profile.
    """
    return Pipeline(
        [
            node(
                tag,
                ["texts", "tagged_before", "params:tagging", "params:benchmark", "params:engine"],
                "tags",
                name=f"tag_{tagging}",
            )
        ],
        namespace=benchmark,
        inputs={"texts": f"{benchmark}.texts", "tagged_before": "tagged_before"},
        outputs={"tags": f"{benchmark}.{tagging}.tags"},
        parameters={
            "params:tagging": f"params:taggings.{tagging}",
            "params:benchmark": f"params:benchmarks.{benchmark}",
            "params:engine": "params:engine",
        },
    )
