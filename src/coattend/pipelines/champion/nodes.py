"""The node of the pipeline that names a benchmark's champion."""

import logging

from coattend.config import BenchmarkParameters, entries
from coattend.config.source import run_command
from coattend.errors import CoattendError
from coattend.pipelines.annotations import Dataset
from coattend.serving.records import ChampionRecord, TrialModel

logger = logging.getLogger(__name__)


def crown(questions: Dataset, mlflow_store: str, benchmark: BenchmarkParameters) -> dict[str, ChampionRecord]:
    """Register the best of a benchmark's trained readers, by their dev scores, one for each task that it has; see
    `coattend.serving.champion.update_champion`."""
    import pyarrow.dataset as pads

    from coattend.evaluation.groups import COLUMNS, scored_questions
    from coattend.io.mlflow_store import client_of, store_errors
    from coattend.serving import champion

    client = client_of(mlflow_store)
    champions: dict[str, ChampionRecord] = {}
    dev_questions = questions.to_table(columns=COLUMNS, filter=pads.field("split") == champion.DEV)
    for task in benchmark.tasks:
        ids = scored_questions(dev_questions, task)[0]["question_id"]
        name = champion.registered_name(benchmark.name, task, benchmark.tasks)
        if client is None or not len(ids):
            continue
        with store_errors(mlflow_store):
            record = champion.update_champion(client, benchmark.name, name, task, ids)
        if record is not None:
            champions[task] = record
            logger.info(_describe(record))
    if not champions:
        reader = f"{benchmark.name}.{entries.baseline_reader(benchmark.name)}"
        run = f"Train and score one, with tracking.models on: {run_command(namespaces=reader)}"
        problem = "no reader of it was scored on dev and logged as a model, but for those that chose by dev"
        raise CoattendError(problem, where=benchmark.name, cure=run)
    return champions


def _describe(record: ChampionRecord) -> str:
    metric, best, previous = record["metric"], record["champion"], record["replaced"]
    summary = f"{_name(best)}, {metric} {best['score']:.1f}, of {record['of']} that were scored"
    address = f"models:/{record['name']}@{record['alias']}"
    if previous is None:
        return f"{address} is {summary}"
    score = "not scored on these questions" if previous["score"] is None else f"{metric} {previous['score']:.1f}"
    return f"{address} is now {summary}. It replaces {_name(previous)}, {score}"


def _name(entry: TrialModel) -> str:
    return f"{entry['reader']}, seed {entry['seed']} (trial {entry['trial_id']})"
