"""Nodes of the training pipeline."""

from pathlib import Path
from typing import Any

from coattend.config import (
    LOCAL,
    BenchmarkParameters,
    EncoderParameters,
    EngineParameters,
    ReaderParameters,
    TaggingParameters,
    TokenizerParameters,
)
from coattend.errors import CoattendError
from coattend.pipelines.annotations import Dataset


def train(
    questions: Dataset,
    passages: Dataset,
    tokens: Dataset,
    trials: Path,
    benchmark: BenchmarkParameters,
    reader: ReaderParameters,
    encoder: EncoderParameters,
    tokenizer: TokenizerParameters,
    tagging: TaggingParameters,
    engine: EngineParameters = LOCAL,
    tags: Dataset | None = None,
) -> dict[str, Any]:
    """Train a reader's trials, or load their outcomes: one after the other, or on a cluster in parallel.

    Returns:
        The model: benchmark, reader, task, and the outcome of each trial.

    Raises:
        CoattendError: If every trial failed.
    """
    from coattend.training.launcher import train_seeds
    from coattend.training.run_trial import train_all
    from coattend.trials.experiment import BenchmarkTables, Experiment

    tables = BenchmarkTables(benchmark, questions, passages, tokens, tags)
    experiment = Experiment.from_config(tables, reader, encoder, tokenizer, tagging)
    if engine.kind == "local":
        outcomes = train_all(experiment, trials)
    else:
        outcomes = train_seeds(experiment, trials, engine=engine)
    if all(outcome["failure"] for outcome in outcomes):
        where = f"{experiment.benchmark}.{experiment.name}"
        raise CoattendError(f"every trial failed: {outcomes[0]['failure']}", where=where)
    return {
        "benchmark": experiment.benchmark,
        "reader": experiment.name,
        "task": experiment.source.task,
        "trials": outcomes,
    }
