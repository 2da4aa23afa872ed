"""Count the answers of a trained reader that depend on what a question shares its batch with."""

import logging
from dataclasses import replace
from pathlib import Path

import torch

from coattend.batches.dataset import QuestionSet
from coattend.config import BatchInvarianceParameters, BenchmarkParameters, entries
from coattend.config.source import run_command
from coattend.errors import CoattendError, did_you_mean
from coattend.evaluation.records import BatchInvariance, Differences
from coattend.inference.predict import answer_questions
from coattend.inference.scoring import score_answers
from coattend.io.table_store import StoredTables
from coattend.readers import is_trained
from coattend.readers.reader import Reader
from coattend.training.verify import differences
from coattend.trials import run_spec
from coattend.trials.device import device_name, processor_name, select_device
from coattend.trials.experiment import Experiment
from coattend.trials.store import FinishedTrial, find_trial, finished_trials
from coattend.trials.trial import check_weights

PRECISIONS = ("fp32", "bf16")

logger = logging.getLogger(__name__)


def select_trials(store: Path, parameters: BatchInvarianceParameters) -> list[FinishedTrial]:
    """Return the trials that the parameters name, or the newest of the first seed of each entry of the benchmark.

    Raises:
        CoattendError: If a name begins the id of no finished trial or of several, or the benchmark has none.
    """
    if parameters.trials is not None:
        names = [name for name in parameters.trials.split("+") if name]
        return [find_trial(store, name, "batch_invariance.trials") for name in names]
    trials = finished_trials(store)
    by_entry: dict[str, FinishedTrial] = {}
    # Of trials with one name the last to be entered remains.
    for trial in sorted(trials, key=_rank, reverse=True):
        if trial.benchmark == parameters.benchmark and is_trained(trial.content["reader"]):
            by_entry[trial.entry] = trial
    if not by_entry:
        benchmarks = sorted({trial.benchmark for trial in trials})
        cure = did_you_mean(parameters.benchmark, benchmarks)
        if parameters.benchmark in entries.benchmark_names():
            reader = f"{parameters.benchmark}.{entries.baseline_reader(parameters.benchmark)}"
            cure = f"Train one: {run_command(namespaces=reader, with_params=False)}"
        raise CoattendError("has no finished trial", where=f"benchmark {parameters.benchmark}", cure=cure)
    return [by_entry[name] for name in sorted(by_entry)]


def count_changed_answers(
    trial: FinishedTrial, tables: StoredTables, benchmark: BenchmarkParameters, *, questions: int
) -> BatchInvariance:
    """Ask a trial each question alone and in full batches, in float32 and in bf16, and count the answers that differ.

    Args:
        trial: The trial, whose weights must be those that were trained.
        tables: The tables of its benchmark as they are now.
        benchmark: The benchmark's parameters.
        questions: Number of questions at most; they are drawn from all splits but train by a hash of their ids.
    """
    folder = trial.folder / "model"
    check_weights(folder, trial.outcome["model_digest"])
    experiment = run_spec.restore_experiment(trial, tables, benchmark)
    asked = experiment.source.evaluation(experiment.training).sample(questions)
    device = select_device(experiment.training)
    reader = Reader.load(folder).to(device)
    precisions = {
        precision: _changes(_in_precision(experiment, precision), reader, asked, trial) for precision in PRECISIONS
    }
    counts = ", ".join(f"{changes['other_answers']} in {precision}" for precision, changes in precisions.items())
    logger.info("%s: of %d answers change in full batches: %s", trial, len(asked.examples), counts)
    return {
        "trial": trial.id,
        "about": str(trial),
        "reader": experiment.name,
        "benchmark": benchmark.name,
        "seed": trial.content["seed"],
        "questions": len(asked.examples),
        "trained_in": trial.content["training"]["precision"],
        "device": device_name(device),
        "processor": processor_name(),
        "threads": torch.get_num_threads(),
        "precisions": precisions,
    }


def _changes(experiment: Experiment, reader: Reader, questions: QuestionSet, trial: FinishedTrial) -> Differences:
    # Without cached outputs of a frozen encoder, which would be those of a batch.
    in_batches, one_by_one = (
        score_answers(
            answer_questions(experiment, reader, questions, alone=alone),
            questions,
            trial_id=trial.id,
            seed=trial.content["seed"],
            threshold=trial.outcome["null_threshold"],
        )
        for alone in (False, True)
    )
    return differences(one_by_one, in_batches)


def _in_precision(experiment: Experiment, precision: str) -> Experiment:
    return replace(experiment, training=experiment.training.model_copy(update={"precision": precision}))


def _rank(trial: FinishedTrial) -> tuple[int, float]:
    """Sort key of trials of one entry, the most representative first: the lowest seed, then the newest."""
    return trial.content["seed"], -trial.finished_at.timestamp()
