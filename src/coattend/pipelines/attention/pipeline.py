"""The attention pipeline, which learns from a trial whose tables to read."""

from kedro.pipeline import Pipeline, node

from coattend.pipelines.attention.nodes import draw, look


def create_pipeline() -> Pipeline:
    """Look at questions and draw the page: nodes ``look_at_attention`` and ``draw_attention``."""
    inputs = ["params:attention", "params:benchmarks", "trials", "stored_tables"]
    return Pipeline(
        [
            node(look, inputs, ["attention_maps", "attention_readings"], name="look_at_attention"),
            node(draw, ["attention_maps", "attention_readings"], "attention_page", name="draw_attention"),
        ]
    )
