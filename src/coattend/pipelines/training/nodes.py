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
    parameters: Mapping[str, Mapping[str, object]],
    tags: Dataset | None = None,
) -> TrainedReader:
    """Train a reader's trials, or load their outcomes: one after the other, or on a cluster in parallel.

    Args:
        questions: The benchmark's questions.
        passages: Its passages.
        tokens: Its subwords.
        trials: The folder of all trials.
        benchmark: The benchmark.
        reader: The reader's entry.
        parameters: The project's parameters, with the profiles that the entry names.
        tags: The benchmark's tagged words, for readers of words.

    Returns:
        The outcome of each trial, failures included, with the names of benchmark and reader and the task.

    Raises:
        CoattendError: If every trial failed.
    """
    from coattend.training.launcher import train_seeds
    from coattend.training.run_trial import TrialRunner, train_all
    from coattend.trials.experiment import Experiment, ReaderSetup, Reading, question_source, read_questions, tasks_of

    # The tasks of the questions decide on the reader's head, and the head on the form of texts and questions.
    setup = ReaderSetup.resolve(reader, parameters)
    reading = Reading.resolve(setup, benchmark, tasks_of(questions, benchmark), tokens, tags)
    source = question_source(questions, passages, benchmark, reading)
    experiment = Experiment.from_reading(setup, benchmark, reading, source)
    examples = read_questions(source, experiment.training)
    engine = EngineParameters.model_validate(parameters["engine"])
    if engine.kind == "local":
        outcomes = train_all(examples, experiment, trials)
    else:
        runner = TrialRunner(experiment, trials, examples)
        outcomes = train_seeds(runner, engine=engine)
        if all(outcome["failure"] for outcome in outcomes):
            where = f"{experiment.benchmark}.{experiment.name}"
            raise CoattendError(f"every trial failed: {outcomes[0]['failure']}", where=where)
    return {"benchmark": benchmark.name, "reader": reader.name, "task": source.task, "trials": outcomes}
