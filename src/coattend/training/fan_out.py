"""The trials of one plan at once, each in a process of its own."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from coattend.engines.local import cores, map_shards
from coattend.training import events
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


_work: list[Work] = []
"""In a worker process: what it trains trials of."""


def train_seeds(plan: Plan, store: Path, *, processes: int | None = None) -> list[dict[str, Any]]:
    """Train a plan's trials; one that fails does not keep the others from being trained.

    Args:
        plan: What is trained.
        store: The folder of all trials.
        processes: How many at once, which share the cores; None: on a GPU one, else one a core.

    Returns:
        What each trial came to, in the order of seeds; one that failed has a ``failure``.
    """
    jobs = [Job(seed) for seed in plan.training.seeds]
    found = dict(train_jobs(Work.of(plan, store), jobs, processes=processes))
    return [found[place] for place in range(len(jobs))]


def train_jobs(
    work: Work, jobs: Sequence[Job], *, processes: int | None = None
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Train trials, or find them done; one that fails does not keep the others from being trained.

    Args:
        work: What they are trials of.
        jobs: Which ones.
        processes: How many at once, which share the cores; None: on a GPU one, else one a core.

    Yields:
        A job's place and what its trial came to, as they come; one that failed has a ``failure``.
    """
    placed = list(enumerate(jobs))
    to_train = [(place, job) for place, job in placed if work.learned(job.values).trial(job.seed).outcome() is None]
    if processes is None:
        processes = 1 if work.plan.precision()[0] == "cuda" else cores()
    if min(processes, len(to_train)) < 2:
        yield from ((place, _attempt(work, job)) for place, job in placed)
        return
    yield from ((place, _attempt(work, job)) for place, job in placed if (place, job) not in to_train)
    threads = max(1, cores() // processes)
    started = {"initializer": _start, "initargs": (work, threads, list(events.listeners), dict(os.environ))}
    title = f"{work.plan.benchmark}.{work.plan.name}"
    yield from map_shards(_attempt_placed, to_train, workers=processes, title=title, **started)


def _start(work: Work, threads: int, listeners: list[events.Listener], environment: dict[str, str]) -> None:
    import torch

    _work.append(work)
    os.environ.update(environment)
    torch.set_num_threads(threads)
    events.listeners[:] = listeners


def _attempt_placed(placed: tuple[int, Job]) -> tuple[int, dict[str, Any]]:
    place, job = placed
    return place, _attempt(_work[0], job)


def _attempt(work: Work, job: Job) -> dict[str, Any]:
    return work.learned(job.values).attempt(job.seed)[0]
