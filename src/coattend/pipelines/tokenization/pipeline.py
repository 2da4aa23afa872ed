"""The tokenization pipeline of one tokenizer over one tagging of a benchmark."""

from kedro.pipeline import Pipeline, node

from coattend.pipelines.tokenization.nodes import tokenize


def create_pipeline(benchmark: str, tagging: str, tokenizer: str) -> Pipeline:
    """Tokenise the texts of a benchmark: node ``<benchmark>.tokenize_<tagging>_<tokenizer>``.

    Args:
        benchmark: Name of the benchmark.
        tagging: Name of the tagging profile.
        tokenizer: Name of the tokenizer profile.
    """
    return Pipeline(
        [
            node(
                tokenize,
                ["texts", "tags", "params:tokenizer", "params:benchmark", "params:engine"],
                "tokens",
                name=f"tokenize_{tagging}_{tokenizer}",
            )
        ],
        namespace=benchmark,
        inputs={"texts": f"{benchmark}.texts", "tags": f"{benchmark}.{tagging}.tags"},
        outputs={"tokens": f"{benchmark}.{tagging}.{tokenizer}.tokens"},
        parameters={
            "params:tokenizer": f"params:tokenizers.{tokenizer}",
            "params:benchmark": f"params:benchmarks.{benchmark}",
            "params:engine": "params:engine",
        },
    )
