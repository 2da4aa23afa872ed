"""Nodes of the evaluation pipeline for one reader on one benchmark."""

from functools import partial

from kedro.pipeline import node
from kedro.pipeline.node import Node

from coattend.config.entries import TextProfiles
from coattend.pipelines.evaluation.nodes import answer, predict, score
from coattend.pipelines.keys import TRAINS
from coattend.pipelines.training.pipeline import architecture_preview, model_parameters, tables_of


def create_nodes(benchmark: str, reader: str, profiles: TextProfiles, *, trained_on: str) -> list[Node]:
    """Answer and score with a reader of another benchmark or this one: nodes ``<benchmark>.<reader>.predict`` and
    ``.score``."""
    namespace = f"{benchmark}.{reader}"
    model = f"{trained_on}.{reader}.model"
    inputs = {"model": model, "trials": "trials"} | tables_of(benchmark, profiles)
    return [
        node(
            predict,
            inputs | model_parameters(benchmark, reader),
            [f"{namespace}.predictions", f"{namespace}.rejected_questions"],
            name="predict",
            namespace=namespace,
            tags=TRAINS,
        ),
        _score_node(benchmark, reader, model),
    ]


def create_untrained_nodes(benchmark: str, reader: str) -> list[Node]:
    """Answer and score with a language model as it is: nodes ``<benchmark>.<reader>.answer`` and ``.score``."""
    namespace = f"{benchmark}.{reader}"
    tables = {name: f"{benchmark}.{name}" for name in ("questions", "passages")}
    return [
        node(
            answer,
            {"trials": "trials"} | tables | model_parameters(benchmark, reader),
            [f"{namespace}.{name}" for name in ("model", "predictions", "rejected_questions")],
            name="answer",
            namespace=namespace,
            tags=TRAINS,
            preview_fn=partial(architecture_preview, benchmark, reader),
        ),
        _score_node(benchmark, reader, f"{namespace}.model"),
    ]


def _score_node(benchmark: str, reader: str, model: str) -> Node:
    namespace = f"{benchmark}.{reader}"
    scored = [
        f"{namespace}.predictions",
        f"{benchmark}.questions",
        f"{benchmark}.passages",
        model,
        f"params:benchmarks.{benchmark}",
        f"{namespace}.rejected_questions",
    ]
    return node(score, scored, f"{namespace}.metrics", name="score", namespace=namespace)
