"""Processes of this machine: bounded work ahead, errors as they are, and no worker that outlives its caller."""

import os
import signal
from multiprocessing import active_children

import psutil
import pytest
from waiting import start_waiting

from coattend.config import LOCAL
from coattend.errors import CoattendError
from coattend.parallel.engine import map_shards
from coattend.parallel.processes import cores


def square(number: int) -> tuple[int, int]:
    return number, number * number


def refuse(number: int) -> int:
    if number == 3:
        raise CoattendError("is odd", where=f"shard {number}", cure="Take another")
    if number == 4:
        raise KeyError("four")
    return number


def die(number: int) -> int:
    if number == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_items_whose_number_is_given_are_taken_a_few_ahead(workers):
    consumed, results, ahead = [], [], 0
    items = (consumed.append(number) or number for number in range(60))
    for result in map_shards(LOCAL, square, items, total=60, workers=workers):
        results.append(result)
        ahead = max(ahead, len(consumed) - len(results))
    assert sorted(results) == [(n, n * n) for n in range(60)]
    assert ahead < 4 * workers


@pytest.mark.parametrize("workers", [1, 2])
def test_errors_come_home_as_they_are(workers):
    with pytest.raises(CoattendError) as caught:
        list(map_shards(LOCAL, refuse, [1, 3], workers=workers))
    assert (caught.value.where, caught.value.cure) == ("shard 3", "Take another")
    with pytest.raises(KeyError, match="four"):
        list(map_shards(LOCAL, refuse, [1, 4], workers=workers))
    assert not active_children()


def test_a_dead_worker_is_one_clear_error():
    with pytest.raises(CoattendError, match=r"a worker process died.*fewer `workers`"):
        list(map_shards(LOCAL, die, range(8), workers=2))
    assert not active_children()


def test_stopping_early_ends_the_workers():
    results = map_shards(LOCAL, square, range(1000), workers=2)
    next(results)
    results.close()
    assert not active_children()


def test_there_is_a_core():
    assert 1 <= cores() <= os.cpu_count()


def test_an_interrupt_ends_all_processes_quietly(tmp_path):
    running, workers = start_waiting(tmp_path, "local")
    os.killpg(running.pid, signal.SIGINT)
    out, err = running.communicate(timeout=30)
    assert (out, err) == ("interrupted\n", "")
    assert not psutil.wait_procs(workers, timeout=10)[1]


def test_the_workers_of_a_killed_process_end(tmp_path):
    running, workers = start_waiting(tmp_path, "local")
    running.kill()
    running.wait(timeout=10)
    assert not psutil.wait_procs(workers, timeout=10)[1]
    running.stdout.close()
    running.stderr.close()
