"""The node of the pipeline that names a benchmark's champion."""

import logging
from collections.abc import Mapping
from typing import Any

import pyarrow.dataset as pads

from coattend.errors import CoattendError
from coattend.parameters import BenchmarkParameters

logger = logging.getLogger(__name__)


def crown(questions: pads.Dataset, mlflow_store: str, benchmark: BenchmarkParameters) -> dict[str, Any]:
    """Register the best of a benchmark's trained readers, by their dev scores, one for each task that it asks for.

    Args:
        questions: Its questions.
        mlflow_store: Address of the MLflow store.
        benchmark: The benchmark.

    Returns:
        Task to its champion; see `coattend.serving.champion.crown`.

    Raises:
        CoattendError: If no reader of any task was scored and logged, or the store cannot be used.
    """
    from coattend.datasets.mlflow_store import asking, client_of
    from coattend.evaluation.groups import COLUMNS, scored_questions
    from coattend.serving import champion

    client, found = client_of(mlflow_store), {}
    asked = questions.to_table(columns=COLUMNS, filter=pads.field("split") == champion.DEV)
    for task in benchmark.tasks:
        ids = scored_questions(asked, task)[0]["question_id"]
        name = champion.name_of(benchmark.name, task, benchmark.tasks)
        if client is None or not len(ids):
            continue
        with asking(mlflow_store):
            one = champion.crown(client, benchmark.name, name, task, ids)
        if one is not None:
            found[task] = one
            logger.info(_told(one))
    if not found:
        run = f"Run kedro run --pipelines training,evaluation --namespaces {benchmark.name}.<reader>"
        problem = "no reader of it was scored on dev and logged as a model, but for those that chose by dev"
        raise CoattendError(problem, where=benchmark.name, cure=f"{run}, with tracking.models on")
    return found


def _told(one: Mapping[str, Any]) -> str:
    metric, best, before = one["metric"], one["champion"], one["replaced"]
    who = f"{_who(best)}, {metric} {best['score']:.1f}, of {one['of']} that were scored"
    address = f"models:/{one['name']}@{one['alias']}"
    if before is None:
        return f"{address} is {who}"
    score = "not scored on these questions" if before["score"] is None else f"{metric} {before['score']:.1f}"
    return f"{address} is now {who}. It replaces {_who(before)}, {score}"


def _who(one: Mapping[str, Any]) -> str:
    return f"{one['reader']}, seed {one['seed']} (trial {one['trial_id']})"
