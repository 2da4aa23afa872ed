"""Map a function over shards, with the configured engine: processes of this machine or a Dask cluster."""

from collections.abc import Callable, Generator, Iterable, Iterator
from functools import partial
from typing import Any

from coattend.config import EngineParameters
from coattend.errors import CoattendError
from coattend.parallel.processes import Item, Result, cores, map_in_processes
from coattend.parallel.progress import track_progress


def map_shards(
    engine: EngineParameters,
    function: Callable[[Item], Result],
    items: Iterable[Item],
    *,
    total: int | None = None,
    workers: int | None = None,
    initializer: Callable[[], None] | None = None,
    title: str = "Working",
) -> Iterator[Result]:
    """Apply a function to items in several processes.

    Only a few items per worker are under way at any time, so memory does not grow with their number. When the caller
    stops early, is interrupted or is killed, the workers of this machine end; a worker of a cluster at an address
    finishes its current item.

    Args:
        engine: Local processes, or a cluster and its address.
        function: A picklable function. On a cluster it runs in the folder that this process works in.
        items: Picklable items.
        total: Number of items; None: they are listed. With it each item is taken in this process when a worker is about
            to have room for it, so there may be more of them than memory holds.
        workers: Number of processes; None: one per core. One item or one worker is done in this process. The cluster of
            an address has its own workers, which may come and go.
        initializer: Called in each worker process before its first item, never in this process.
        title: Name of the progress bar, which is drawn if standard error is a terminal.

    Returns:
        The results, in the order in which they are finished. What ``function`` raises is raised unchanged.

    Raises:
        CoattendError: If Dask is configured and not installed, its scheduler cannot be reached or goes away, or its
            workers do not see this process's folder.
        WorkerError: If a worker process dies, or several workers of a cluster die of one item.
    """
    if total is None:
        items = list(items)
        total = len(items)
    workers = min(workers or cores(), total)
    map_in_workers = _select_engine(engine, title)
    results: Generator[Result, None, None]
    if not total or (workers < 2 and engine.address is None):
        results = (function(item) for item in items)
    else:
        results = map_in_workers(function, items, workers, initializer)
    return track_progress(results, total, title)


def call(task: Callable[[], Result]) -> Result:
    """Call a function, as the function of `map_shards` for items that are functions themselves: a worker loads these,
    and imports what they need, behind its initializer."""
    return task()


def _select_engine(engine: EngineParameters, title: str) -> Callable[..., Generator[Any, None, None]]:
    if engine.kind == "local":
        return map_in_processes
    try:
        from coattend.parallel.dask import map_on_cluster
    except ModuleNotFoundError as error:
        raise CoattendError(
            f"needs the package {error.name}, which is not installed",
            where="engine.kind: dask",
            cure="pip install 'coattend[dask]'",
        ) from error
    return partial(map_on_cluster, address=engine.address, title=title)
