"""The profile pipeline of one benchmark."""

from kedro.pipeline import Pipeline, node

from coattend.pipelines.profile.nodes import draw_profile, profile


def create_pipeline(benchmark: str, tagging: str, tokenizer: str) -> Pipeline:
    """Measure a benchmark: nodes ``<benchmark>.profile`` and ``<benchmark>.draw_profile``.

    Args:
        benchmark: Name of the benchmark.
        tagging: Tagging profile whose words and tags are counted.
        tokenizer: Tokenizer profile whose tokens are counted.
    """
    tables = ["passages", "questions", "rejected", "tags", "tokens"]
    return Pipeline(
        [
            node(
                profile, [*tables, "params:benchmark", "params:tagging", "params:tokenizer"], "profile", name="profile"
            ),
            node(draw_profile, ["profile", "params:benchmark"], "profile_page", name="draw_profile"),
        ],
        namespace=benchmark,
        inputs={name: f"{benchmark}.{name}" for name in tables[:3]}
        | {"tags": f"{benchmark}.{tagging}.tags", "tokens": f"{benchmark}.{tagging}.{tokenizer}.tokens"},
        parameters={
            "params:benchmark": f"params:benchmarks.{benchmark}",
            "params:tagging": f"params:taggings.{tagging}",
            "params:tokenizer": f"params:tokenizers.{tokenizer}",
        },
    )
