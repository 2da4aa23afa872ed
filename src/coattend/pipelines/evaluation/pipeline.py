"""Nodes of the evaluation pipeline for one reader on one benchmark."""

from kedro.pipeline import node
from kedro.pipeline.node import Node

from coattend.config.entries import TextProfiles
from coattend.pipelines.evaluation.nodes import predict, score
from coattend.pipelines.keys import TRAINS
from coattend.pipelines.training.pipeline import model_parameters, tables_of


def create_nodes(benchmark: str, reader: str, profiles: TextProfiles, *, trained_on: str) -> list[Node]:
    """Answer and score with a reader of another benchmark or this one: nodes ``<benchmark>.<reader>.predict`` and
    ``.score``."""
    namespace = f"{benchmark}.{reader}"
    tables, model = tables_of(benchmark, profiles), f"{trained_on}.{reader}.model"
    predictions, rejected = f"{namespace}.predictions", f"{namespace}.rejected_questions"
    parameters = model_parameters(benchmark, reader)
    scored = [predictions, tables["questions"], tables["passages"], model, f"params:benchmarks.{benchmark}", rejected]
    return [
        node(
            predict,
            {"model": model, "trials": "trials"} | tables | parameters,
            [predictions, rejected],
            name="predict",
            namespace=namespace,
            tags=TRAINS,
        ),
        node(score, scored, f"{namespace}.metrics", name="score", namespace=namespace),
    ]
