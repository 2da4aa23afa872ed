"""Estimate the cost of trials before they are trained."""

import json
import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from coattend.batches.sampler import LengthBuckets
from coattend.config import SearchParameters
from coattend.masking import masked_text
from coattend.readers.batch import Batch
from coattend.training.launcher import Job
from coattend.training.run_trial import TrialRunner
from coattend.training.tuning import best_index, configurations
from coattend.trials.build import build_collator, build_reader
from coattend.trials.device import device_and_precision, device_name
from coattend.trials.experiment import Experiment
from coattend.trials.store import finished_trials

INFERENCE_SPEEDUP = 3.0
"""Rough ratio of questions answered to questions trained on in the same time: no backward pass, no optimiser."""

WARM_UP_BATCHES, TIMED_BATCHES = 1, 3

SPEED_FIELDS = ("benchmark", "reader", "head", "options", "encoder")
SPEED_FIELDS_IN_TRAINING = ("tokens_per_batch", "max_length", "frozen", "precision")
"""Fields of a trial's content, and of its training, that decide its speed."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Cost:
    """Cost of the trials of an experiment that are still to be trained.

    Attributes:
        trials: Number of trials.
        seconds: Of one processor or GPU, for all of them; 0 if they cannot be timed.
        known_from: Source of the estimate.
    """

    trials: int
    seconds: float
    known_from: str


def cost_of(
    experiment: Experiment,
    store: Path,
    *,
    evaluated: Experiment | None = None,
    search: SearchParameters | None = None,
    awaits_parents: bool = False,
    counted: bool = False,
) -> Cost:
    """Estimate the cost of an experiment from the speed of similar trials on this machine, or else of a few batches.

    Args:
        experiment: The experiment to train.
        store: The folder of all trials.
        evaluated: The experiment to evaluate; None: the same.
        search: A search that tunes its training first; None: no search.
        awaits_parents: True if its trials start from others that are not trained yet, so that their ids are unknown.
        counted: True if the cost of its training is counted elsewhere, and only evaluation is to be added.
    """
    runner = TrialRunner.of(experiment, store)
    missing = _missing_jobs(runner, search, awaits_parents=awaits_parents)
    if not missing:
        return Cost(0, 0.0, "all trials are there")
    trials = 0 if counted else len(missing)
    rate, source = _recorded_rate(runner), "earlier trials"
    if rate is None:
        # Any error is of the trials: they will fail alike and say so, and the others go on.
        try:
            rate, source = _measured_rate(runner), f"{TIMED_BATCHES} batches"
        except Exception as error:
            problem = f"cannot be timed: {masked_text(f'{type(error).__name__}: {error}')}"
            logger.warning("%s on %s %s", experiment.name, experiment.benchmark, problem)
            return Cost(trials, 0.0, problem)
    # Questions to train on, to choose checkpoints by, and to evaluate.
    epochs = sum(job.values.get("epochs", experiment.training.epochs) for job in missing)
    trained = len(runner.train.examples) * epochs
    held_out = len(missing) * len(runner.held_out.examples) * experiment.training.evaluations
    evaluated = evaluated or experiment
    scored = len(missing) * len(evaluated.source.evaluation(evaluated.training).examples)
    training_cost = 0 if counted else trained + held_out / INFERENCE_SPEEDUP
    return Cost(trials, (training_cost + scored / INFERENCE_SPEEDUP) / rate, source)


def _missing_jobs(runner: TrialRunner, search: SearchParameters | None, *, awaits_parents: bool) -> list[Job]:
    """Return the trials that are still to be trained.

    Until a search has ended, the configured training stands for the chosen one.
    """

    def is_missing(job: Job) -> bool:
        return awaits_parents or runner.with_training(job.values).trial(job.seed).outcome() is None

    seeds = runner.experiment.training.seeds
    if search is None:
        return [job for job in map(Job, seeds) if is_missing(job)]
    first_seed, *other_seeds = seeds
    search_jobs = [Job(first_seed, values) for values in configurations(runner.experiment, search)]
    untried = list(filter(is_missing, search_jobs))
    if untried:
        return untried + [Job(seed) for seed in other_seeds]
    outcomes = [runner.with_training(job.values).trial(first_seed).outcome() or {} for job in search_jobs]
    chosen_values = search_jobs[best_index(outcomes)].values
    return [job for job in (Job(seed, chosen_values) for seed in other_seeds) if is_missing(job)]


def _recorded_rate(runner: TrialRunner) -> float | None:
    """Return the questions per second of the latest trial of the same speed fields and device; None without one."""
    content = runner.trial(runner.experiment.training.seeds[0]).content
    speed_key = _speed_key(json.loads(json.dumps(content)))
    device = _without_threads(device_name(device_and_precision(runner.experiment.training)[0]))
    rates = []
    for trial in finished_trials(runner.store):
        if _speed_key(trial.content) == speed_key and _without_threads(trial.outcome["device"]) == device:
            modified = (trial.folder / "outcome.json").stat().st_mtime
            rates.append((modified, trial.outcome["questions_per_second"]))
    return max(rates)[1] if rates else None


def _without_threads(device: str) -> str:
    """Cut the number of threads off a device's name."""
    return device.partition(",")[0]


def _speed_key(content: Mapping[str, Any]) -> list[Any]:
    training = content["training"]
    return [*map(content.get, SPEED_FIELDS), *map(training.get, SPEED_FIELDS_IN_TRAINING)]


def _measured_rate(runner: TrialRunner) -> float:
    """Train a few batches and return the questions per second."""
    experiment = runner.experiment
    device, bf16 = device_and_precision(experiment.training)
    reader = build_reader(experiment, runner.train).to(device).train()
    collator = build_collator(experiment, reader, runner.train)
    examples = runner.train.examples
    buckets = LengthBuckets(
        [collator.sequence_length(example) for example in examples],
        [len(example.sequences) for example in examples],
        tokens_per_batch=experiment.training.tokens_per_batch,
    )
    optimiser = torch.optim.AdamW([weights for weights in reader.parameters() if weights.requires_grad], lr=1e-5)
    # Evenly spaced batches stand for all lengths.
    batches, limit = list(buckets), WARM_UP_BATCHES + TIMED_BATCHES
    sampled = [batches[index * len(batches) // limit] for index in range(min(limit, len(batches)))]
    start, trained = time.perf_counter(), 0
    for number, indices in enumerate(sampled):
        # Start the clock after the warm-up.
        if number == min(WARM_UP_BATCHES, len(sampled) - 1):
            start, trained = time.perf_counter(), 0
        with torch.autocast(torch.device(device).type, torch.bfloat16, enabled=bf16):
            loss = reader(Batch(**collator([examples[index] for index in indices])).to(device)).loss
        loss.backward()
        optimiser.step()
        optimiser.zero_grad()
        trained += len(indices)
    return trained / max(time.perf_counter() - start, 1e-6)
