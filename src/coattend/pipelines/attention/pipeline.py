"""The attention pipeline, which learns from a trial whose tables to read, and its nodes in a study's."""

from typing import Any

from kedro.pipeline import Pipeline, node

from coattend.pipelines.attention.nodes import draw, look, look_at_variants


def study_nodes(study: str, benchmark: str) -> list[Any]:
    """Look at questions of a benchmark with a study's trials and draw the page: nodes of the same names, in the study's
    namespace."""
    namespace = f"study.{study}.{benchmark}"
    inputs = {
        "findings": f"study.{study}.findings",
        "benchmark": f"params:benchmarks.{benchmark}",
        "variants": f"params:studies.{study}.variants",
        "attention": "params:attention",
        "trials": "trials",
        "stored_tables": "stored_tables",
    }
    seen = [f"{namespace}.attention_maps", f"{namespace}.attention_readings"]
    about = {"namespace": namespace, "tags": "study"}
    return [
        node(look_at_variants, inputs, seen, name="look_at_attention", **about),
        node(draw, seen, f"{namespace}.attention_page", name="draw_attention", **about),
    ]


def create_pipeline() -> Pipeline:
    """Look at questions and draw the page: nodes ``look_at_attention`` and ``draw_attention``."""
    inputs = ["params:attention", "params:benchmarks", "trials", "stored_tables"]
    return Pipeline(
        [
            node(look, inputs, ["attention_maps", "attention_readings"], name="look_at_attention"),
            node(draw, ["attention_maps", "attention_readings"], "attention_page", name="draw_attention"),
        ]
    )
