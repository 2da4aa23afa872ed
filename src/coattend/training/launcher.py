"""Train the trials of an experiment in parallel, each in its own process, on this machine or on a cluster."""

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from coattend.config import LOCAL, EngineParameters
from coattend.errors import WorkerError
from coattend.parallel.engine import call, map_shards
from coattend.parallel.processes import cores
from coattend.training import events
from coattend.training.run_trial import TrialRunner
from coattend.trials.device import concurrent_trials, use_worker_gpu, visible_gpus
from coattend.trials.trial import TrialOutcome


class Job(NamedTuple):
    """A trial to train: its seed, and training parameters that differ from those of its experiment."""

    seed: int
    values: Mapping[str, float | None] = {}


def train_seeds(
    runner: TrialRunner, *, processes: int | None = None, engine: EngineParameters = LOCAL
) -> list[TrialOutcome]:
    """Train an experiment's trials as `train_jobs` does, and return their outcomes in the order of seeds."""
    jobs = [Job(seed) for seed in runner.experiment.training.seeds]
    outcomes = dict(train_jobs(runner, jobs, processes=processes, engine=engine))
    return [outcomes[index] for index in range(len(jobs))]


def train_jobs(
    runner: TrialRunner, jobs: Sequence[Job], *, processes: int | None = None, engine: EngineParameters = LOCAL
) -> Iterator[tuple[int, TrialOutcome]]:
    """Train trials, or load their outcomes, and yield the index of each job with its outcome as they end; if one fails,
    its outcome has a ``failure``, and the others go on.

    On a cluster each worker trains one trial at a time, with PyTorch's default number of threads, and writes it into
    the folder of all trials, which it has to see. If a worker dies, its trial resumes elsewhere from the last
    checkpoint. On this machine ``processes`` trials share the cores; None: one a GPU, else one a core. A cluster beyond
    it trains as many as it has workers.
    """
    indexed = list(enumerate(jobs))
    to_train = [
        (index, job) for index, job in indexed if runner.with_training(job.values).trial(job.seed).outcome() is None
    ]
    processes = processes or concurrent_trials(runner.experiment.training)
    # A single trial, or one at a time, needs no other process.
    if engine.kind == "local" and min(processes, len(to_train)) < 2:
        yield from ((index, _attempt(runner, job)) for index, job in indexed)
        return
    yield from ((index, _attempt(runner, job)) for index, job in indexed if (index, job) not in to_train)
    threads = initializer = None
    if engine.kind == "local":
        processes, training = min(processes, len(to_train)), runner.experiment.training
        threads = max(1, cores() // processes)
        # The processes of one trial take a GPU each themselves.
        gpus = visible_gpus() if training.device != "cpu" and training.processes == 1 else []
        initializer = partial(use_worker_gpu, gpus) if gpus else None
    # These tell a worker where this run is tracked; paths and limits stay the worker's.
    environment = {name: value for name, value in os.environ.items() if name.startswith(("COATTEND_", "MLFLOW_"))}
    arguments = (runner, threads, list(events.listeners), environment)
    tasks = [partial(_attempt_in_worker, *arguments, item) for item in to_train]
    title = f"{runner.experiment.benchmark}.{runner.experiment.name}"
    pending = dict(to_train)
    try:
        work = map_shards(engine, call, tasks, workers=processes, initializer=initializer, title=title)
        for index, outcome in work:
            del pending[index]
            yield index, outcome
    # A worker that dies takes the pool with it, and so the trials that had not started.
    except WorkerError as error:
        for index, job in pending.items():
            trial = runner.with_training(job.values).trial(job.seed)
            yield index, trial.outcome() or trial.fail(error.message)


def _attempt_in_worker(
    runner: TrialRunner,
    threads: int | None,
    listeners: list[events.Listener],
    environment: dict[str, str],
    indexed_job: tuple[int, Job],
) -> tuple[int, TrialOutcome]:
    import torch

    # A cluster's worker trains other runs' trials in between, so each call sets the environment.
    os.environ.update(environment)
    events.listeners[:] = listeners
    if threads is not None:
        torch.set_num_threads(threads)
    index, job = indexed_job
    return index, _attempt(runner, job)


def _attempt(runner: TrialRunner, job: Job) -> TrialOutcome:
    return runner.with_training(job.values).attempt(job.seed)[0]
