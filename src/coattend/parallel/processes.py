"""Map a function over items in processes of this machine."""

import os
import signal
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import islice
from multiprocessing import connection, get_all_start_methods, get_context, parent_process
from typing import Any, TypeVar

from coattend.errors import WorkerError

Item = TypeVar("Item")
Result = TypeVar("Result")

_functions: list[Callable[[Any], Any]] = []
"""The function of a worker process, sent to it once, since it may hold all questions of a benchmark."""


def cores() -> int:
    """Return the number of processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def map_in_processes(
    function: Callable[[Item], Result], items: Iterable[Item], workers: int, initializer: Callable[[], None] | None
) -> Generator[Result, None, None]:
    """Apply a function to items in a pool of processes; see `coattend.parallel.engine.map_shards`."""
    with _pool(workers, function, initializer) as pool:
        pending = iter(items)
        # Two items for each worker: the next one is at hand when the first is done.
        running = {pool.submit(_do, item) for item in islice(pending, 2 * workers)}
        while running:
            completed, running = wait(running, return_when=FIRST_COMPLETED)
            running |= {pool.submit(_do, item) for item in islice(pending, len(completed))}
            for future in completed:
                yield future.result()


@contextmanager
def _pool(
    workers: int, function: Callable[[Any], Any], initializer: Callable[[], None] | None
) -> Iterator[ProcessPoolExecutor]:
    # Forking this process could copy a lock that a thread of Arrow, of a tokenizer or of MLflow holds, and hang the
    # worker. The fork server has no threads, and forks faster than a new interpreter starts.
    method = "forkserver" if "forkserver" in get_all_start_methods() else "spawn"
    pool = ProcessPoolExecutor(workers, get_context(method), _start_worker, (function, initializer))
    try:
        yield pool
    except BaseException as error:
        # One that was starting when another died would wait for work for ever, and the pool for it.
        for worker in list((pool._processes or {}).values()):
            worker.terminate()
        if not isinstance(error, BrokenProcessPool):
            raise
        raise WorkerError(
            "a worker process died, most likely because memory ran out",
            cure="What was finished is kept; run the same command again with fewer `workers` or more `shards`, and "
            "trainings with fewer `processes`",
        ) from error
    finally:
        pool.shutdown(cancel_futures=True)


def _start_worker(function: Callable[[Any], Any], initializer: Callable[[], None] | None) -> None:
    # Ctrl-C reaches every process of the terminal; the parent alone answers it, and ends the workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _functions[:] = [function]
    if initializer is not None:
        initializer()


def _do(item: Any) -> Any:
    return _functions[0](item)


def _end_with_parent() -> None:
    # A parent that was killed cannot end its workers, and they would wait for work for ever.
    connection.wait([parent_process().sentinel])  # type: ignore[union-attr]
    os._exit(1)
