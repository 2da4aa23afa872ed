"""The trials of one plan at once, each in a process of its own, of this machine or of a cluster."""

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from coattend.engines.choice import map_shards
from coattend.engines.local import cores
from coattend.errors import WorkerError
from coattend.parameters import LOCAL, EngineParameters
from coattend.training import events
from coattend.training.devices import gpus, take_a_gpu
from coattend.training.fit import Work
from coattend.training.plan import Plan


class Job(NamedTuple):
    """A trial to train.

    Attributes:
        seed: Its seed.
        values: What it changes in how its plan learns.
    """

    seed: int
    values: Mapping[str, Any] = {}


def train_seeds(
    plan: Plan, store: Path, *, processes: int | None = None, engine: EngineParameters = LOCAL
) -> list[dict[str, Any]]:
    """Train a plan's trials; one that fails does not keep the others from being trained.

    Args:
        plan: What is trained.
        store: The folder of all trials.
        processes: How many at once, which share the cores; None: one a GPU, else one a core.
        engine: Where.

    Returns:
        What each trial came to, in the order of seeds; one that failed has a ``failure``.
    """
    jobs = [Job(seed) for seed in plan.training.seeds]
    found = dict(train_jobs(Work.of(plan, store), jobs, processes=processes, engine=engine))
    return [found[place] for place in range(len(jobs))]


def train_jobs(
    work: Work, jobs: Sequence[Job], *, processes: int | None = None, engine: EngineParameters = LOCAL
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Train trials, or find them done; one that fails does not keep the others from being trained.

    On a cluster each worker trains one trial at a time, with as many threads as PyTorch takes there, and writes it into
    the folder of all trials, which it has to see. One whose worker dies goes on from its last checkpoint elsewhere.

    Args:
        work: What they are trials of.
        jobs: Which ones.
        processes: How many at once, which share the cores; None: one a GPU, else one a core. A cluster that is not
            this machine's trains as many as it has workers.
        engine: Where.

    Yields:
        A job's place and what its trial came to, as they come; one that failed has a ``failure``.
    """
    placed = list(enumerate(jobs))
    to_train = [(place, job) for place, job in placed if work.learned(job.values).trial(job.seed).outcome() is None]
    processes = processes or at_once(work.plan)
    if engine.kind == "local" and min(processes, len(to_train)) < 2:
        yield from ((place, _attempt(work, job)) for place, job in placed)
        return
    yield from ((place, _attempt(work, job)) for place, job in placed if (place, job) not in to_train)
    threads = max(1, cores() // processes) if engine.kind == "local" else None
    attempt = partial(_attempt_there, work, threads, list(events.listeners), _environment())
    title = f"{work.plan.benchmark}.{work.plan.name}"
    left = dict(to_train)
    try:
        for place, outcome in map_shards(engine, attempt, to_train, workers=processes, title=title):
            del left[place]
            yield place, outcome
    except WorkerError as error:  # Those that it had not begun are gone with the others' pool.
        for place, job in left.items():
            trial = work.learned(job.values).trial(job.seed)
            yield place, trial.outcome() or trial.fail(error.message)


def at_once(plan: Plan) -> int:
    """How many trials of a plan this machine trains or asks at once: one a GPU, else one a core for each process."""
    if plan.precision()[0] == "cuda":
        return gpus() if plan.training.processes == 1 else 1
    return max(1, cores() // plan.training.processes)


def _environment() -> dict[str, str]:
    """What tells a worker where this run is tracked. Another machine's paths and limits stay its own."""
    return {name: value for name, value in os.environ.items() if name.startswith(("COATTEND_", "MLFLOW_"))}


def _attempt_there(
    work: Work,
    threads: int | None,
    listeners: list[events.Listener],
    environment: dict[str, str],
    placed: tuple[int, Job],
) -> tuple[int, dict[str, Any]]:
    import torch

    # A worker of a cluster has other runs' trials between those of this one.
    os.environ.update(environment)
    events.listeners[:] = listeners
    if threads is not None:
        torch.set_num_threads(threads)
        if work.plan.precision()[0] == "cuda":
            take_a_gpu()
    place, job = placed
    return place, _attempt(work, job)


def _attempt(work: Work, job: Job) -> dict[str, Any]:
    return work.learned(job.values).attempt(job.seed)[0]
