"""The trials of one plan at once, each in a process of its own."""

import os
from pathlib import Path
from typing import Any

from coattend.engines.local import cores, map_shards
from coattend.training import events
from coattend.training.fit import Work
from coattend.training.plan import Plan

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
    work = Work.of(plan, store)
    seeds = list(plan.training.seeds)
    open_seeds = [seed for seed in seeds if work.trial(seed).outcome() is None]
    if processes is None:
        processes = 1 if plan.precision()[0] == "cuda" else cores()
    if min(processes, len(open_seeds)) < 2:
        return [work.attempt(seed)[0] for seed in seeds]
    threads = max(1, cores() // processes)
    started = {"initializer": _start, "initargs": (work, threads, list(events.listeners), dict(os.environ))}
    trained = map_shards(_attempt, open_seeds, workers=processes, title=f"{plan.benchmark}.{plan.name}", **started)
    found = {outcome["seed"]: outcome for outcome in trained}
    return [found[seed] if seed in found else work.attempt(seed)[0] for seed in seeds]


def _start(work: Work, threads: int, listeners: list[events.Listener], environment: dict[str, str]) -> None:
    import torch

    _work.append(work)
    os.environ.update(environment)
    torch.set_num_threads(threads)
    events.listeners[:] = listeners


def _attempt(seed: int) -> dict[str, Any]:
    return _work[0].attempt(seed)[0]
