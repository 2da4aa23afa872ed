"""Nodes of the training pipeline."""

from collections.abc import Mapping
from pathlib import Path

from coattend.config import BenchmarkParameters, EngineParameters, ReaderParameters
from coattend.errors import CoattendError
from coattend.evaluation.records import TrainedReader
from coattend.pipelines.annotations import Dataset


def train(
    questions: Dataset,
    passages: Dataset,
    tokens: Dataset,
    trials: Path,
    benchmark: BenchmarkParameters,
    reader: ReaderParameters,
    profiles: Mapping[str, Mapping[str, object]],
    tags: Dataset | None = None,
) -> TrainedReader:
    """Train a reader's trials, or load their outcomes: one after the other, or on a cluster in parallel. Trials may
    fail, but not all of them. ``profiles`` has the profiles that the reader's entry names; readers of words read
    ``tags``."""
    from coattend.training.launcher import train_seeds
    from coattend.training.run_trial import TrialRunner, train_all
    from coattend.trials.experiment import BenchmarkTables, Experiment, ReaderSetup

    # The tasks of the questions decide on the reader's head, and the head on the form of texts and questions.
    tables = BenchmarkTables(questions, passages, tokens, tags, benchmark)
    experiment = Experiment.from_config(tables, ReaderSetup.resolve(reader.on(benchmark), profiles))
    examples = experiment.training_questions()
    engine = EngineParameters.model_validate(profiles["engine"])
    if engine.kind == "local":
        outcomes = train_all(examples, experiment, trials)
    else:
        runner = TrialRunner(experiment, trials, examples)
        outcomes = train_seeds(runner, engine=engine)
        if all(outcome["failure"] for outcome in outcomes):
            where = f"{experiment.benchmark}.{experiment.name}"
            raise CoattendError(f"every trial failed: {outcomes[0]['failure']}", where=where)
    return {"benchmark": benchmark.name, "reader": reader.name, "task": experiment.source.task, "trials": outcomes}
