"""Each worker process of a machine takes a GPU of its own."""

from multiprocessing import current_process, get_context
from typing import Any

import pytest

from coattend.engines.local import map_shards
from coattend.training.devices import gpu_of

_both: list[Any] = []


@pytest.mark.parametrize(
    ("process", "count", "gpu"),
    [("ForkServerProcess-3", 4, 3), ("SpawnProcess-9:5", 4, 1), ("MainProcess", 4, 0), ("ForkServerProcess-3", 1, 0)],
)
def test_a_process_takes_the_gpu_of_its_number(process, count, gpu):
    assert gpu_of(process, count) == gpu


def meet_at(barrier: Any) -> None:
    _both[:] = [barrier]


def its_gpu(_: int) -> int:
    _both[0].wait(timeout=120)  # One process alone would take both items.
    return gpu_of(current_process().name, 2)


def test_two_workers_take_two_gpus():
    barrier = get_context("forkserver").Barrier(2)
    taken = map_shards(its_gpu, range(2), workers=2, initializer=meet_at, initargs=(barrier,))
    assert sorted(taken) == [0, 1]
