"""The attention pipeline, which learns from a trial whose tables to read, and its nodes in a study's."""

from kedro.pipeline import Pipeline, node
from kedro.pipeline.node import Node

from coattend.pipelines.attention.nodes import draw, draw_in_study, look, look_at_variants
from coattend.pipelines.keys import STUDY


def study_nodes(study: str, benchmark: str) -> list[Node]:
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
    maps = [f"{namespace}.attention_maps", f"{namespace}.attention_readings"]
    page = f"{namespace}.attention_page"
    return [
        node(look_at_variants, inputs, maps, name="look_at_attention", namespace=namespace, tags=STUDY),
        node(draw_in_study, maps, page, name="draw_attention", namespace=namespace, tags=STUDY),
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
