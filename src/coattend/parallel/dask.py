"""Map a function over shards on the workers of a Dask cluster, of other machines or of this one.

All machines need the same packages, and the project's folder at the same place. A worker does one item at a time,
whatever number of threads it has. When one dies, Dask gives what it was at to another.
"""

import logging
import os
import socket
import threading
import uuid
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager, suppress
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar, cast

import dask.config
from distributed import Client, Future, KilledWorker, LocalCluster, WorkerPlugin, as_completed, get_worker
from distributed.client import ClosedClientError
from distributed.protocol.pickle import dumps, loads  # noqa: TID251 - Dask sends functions so; see docs/security.md

from coattend.errors import CoattendError, WorkerError
from coattend.parallel import processes
from coattend.parallel.progress import track_progress

Item = TypeVar("Item")
Result = TypeVar("Result")

CONNECT_TIMEOUT_S = 5
"""Seconds to wait for the scheduler to answer."""

_item_lock = threading.Lock()

logger = logging.getLogger(__name__)


def map_shards(
    function: Callable[[Item], Result],
    items: Iterable[Item],
    *,
    address: str | None = None,
    total: int | None = None,
    workers: int | None = None,
    initializer: Callable[..., None] | None = None,
    initargs: tuple[Any, ...] = (),
    title: str = "Working",
) -> Iterator[Result]:
    """Apply a function to items on the workers of a cluster.

    Only a few items a worker are under way at any time, so memory does not grow with their number. When the caller
    stops early or is interrupted, nothing more is begun, and a cluster of this machine ends; a worker of another
    cluster finishes the item that it is at.

    Args:
        function: A picklable function. It runs in the folder that this process works in.
        items: Picklable items.
        address: The scheduler's, such as ``tcp://10.0.0.1:8786``; None: a cluster of processes of this machine.
        total: How many items there are; None: they are listed. With it each is taken in this process when a worker is
            about to have room for it, so there may be more of them than memory holds.
        workers: How many processes that one has, which share the cores; None: one a core. One item or one worker is
            done in this process. The cluster of an address has the workers that it has, and they may come and go.
        initializer: Called in each worker process before its first item, never in this process.
        initargs: Its arguments.
        title: What the progress bar is called. There is one if standard error is a terminal.

    Yields:
        The results, as they come.

    Raises:
        CoattendError: If the scheduler cannot be reached or goes away, or the workers do not see this process's folder.
        WorkerError: If several workers die of one item. What ``function`` raises comes as it is.
    """
    if total is None:
        items = list(items)
        total = len(items)
    workers = min(workers or processes.cores(), total)
    if not total or (address is None and workers < 2):
        yield from processes.map_shards(function, items, total=total, workers=1, title=title)
        return
    results = _on_cluster(_ShardTask(function, initializer, initargs), items, address, workers, title)
    yield from track_progress(results, total, title)


class _ShardTask(WorkerPlugin):
    """Function that workers apply to items; the scheduler sends it to each worker once, also to late ones."""

    def __init__(self, *function_and_start: Any) -> None:
        # A worker unpickles it when it has its first item: until then it keeps answering the scheduler.
        self._pickled = dumps(function_and_start)
        self._function: Callable[[Any], Any] | None = None
        self._folder = Path.cwd()

    def __call__(self, item: Any) -> Any:
        with _item_lock:
            self._enter()
            if self._function is None:
                self._function = self._started()
            return self._function(item)

    def _enter(self) -> None:
        try:
            os.chdir(self._folder)
        except OSError as error:
            raise CoattendError(
                f"a worker on {socket.gethostname()} cannot enter it ({error.strerror})",
                where=str(self._folder),
                cure="Share the project's folder with all machines of the cluster, at the same place",
            ) from None

    def _started(self) -> Callable[[Any], Any]:
        function: Callable[[Any], Any]
        function, initializer, initargs = loads(self._pickled)
        if initializer is not None:
            initializer(*initargs)
        self._pickled = b""
        return function


def _do(work: str, item: bytes) -> Any:
    task = cast("_ShardTask", get_worker().plugins[work])
    return task(loads(item))


def _on_cluster(
    work: _ShardTask, items: Iterable[Any], address: str | None, workers: int, title: str
) -> Generator[Any, None, None]:
    with _client(address, workers) as client, _registered(client, work) as name:
        pending = iter(enumerate(items))
        running: dict[Future[Any], Any] = {}
        completed = as_completed(loop=client.loop)

        def send() -> None:
            with _scheduler_errors(address):
                # Workers come and go, so the room is counted anew each time: two items for each of them.
                room = 2 * max(1, len(client.nthreads())) - len(running)
            for number, item in islice(pending, max(0, room)):  # An item that cannot be had is no fault of Dask's.
                with _scheduler_errors(address):
                    future = client.submit(_do, name, dumps(item), key=f"{name}-{number}", pure=False)
                    running[future] = item
                    completed.add(future)

        try:
            send()
            while running:
                with _scheduler_errors(address):
                    future = next(completed)
                item = running.pop(future)
                send()
                yield _result(future, item, title, address)
        finally:
            with suppress(Exception):  # The scheduler may be gone.
                client.cancel(list(running))


def _result(future: Future[Any], item: Any, title: str, address: str | None) -> Any:
    try:
        return future.result()
    except CancelledError as error:
        raise _scheduler_lost(address) from error
    except KilledWorker as error:
        first = item[0] if isinstance(item, tuple) else item
        raise WorkerError(
            f"{error.allowed_failures + 1} workers died of it, most likely because memory ran out",
            where=f"{title}, {first}",
            cure="What was finished is kept; run the same command again with fewer workers a machine or more `shards`",
        ) from None


@contextmanager
def _scheduler_errors(address: str | None) -> Iterator[None]:
    try:
        yield
    except (CancelledError, ClosedClientError, OSError) as error:
        raise _scheduler_lost(address) from error


def _scheduler_lost(address: str | None) -> CoattendError:
    return CoattendError(
        "Dask's scheduler went away",
        where=f"engine.address: {address}",
        cure="What was finished is kept; start it again, and run the same command again",
    )


@contextmanager
def _client(address: str | None, workers: int) -> Iterator[Client]:
    with ExitStack() as resources:
        # What concerns the user is raised; asyncio would tell of connections that an interrupt has closed.
        for name in ("distributed", "distributed.client", "asyncio"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        cluster = resources.enter_context(_local_cluster(workers)) if address is None else address
        try:
            client = resources.enter_context(Client(cluster, timeout=CONNECT_TIMEOUT_S, set_as_default=False))
        except OSError as error:
            raise CoattendError(
                f"Dask's scheduler cannot be reached ({error})",
                where=f"engine.address: {address}",
                cure="Start it (dask scheduler), and workers (dask worker ADDRESS), or correct the address",
            ) from error
        if not client.nthreads():
            logger.warning("the cluster at %s has no worker yet; waiting for one", address)
        yield client


@contextmanager
def _local_cluster(workers: int) -> Iterator[LocalCluster]:
    # Workers share the cores, so that their numerical libraries do not compete for them.
    threads = max(1, processes.cores() // workers)
    with (
        TemporaryDirectory(prefix="coattend-") as folder,
        # Dask would set what workers shall find in their environment in this process's, and leave it there.
        dask.config.set({"distributed.nanny.pre-spawn-environ": {}}),
        LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address=None,
            memory_limit=None,
            local_directory=folder,
            silence_logs=logging.CRITICAL,
            env={"OMP_NUM_THREADS": str(threads)},
        ) as cluster,
    ):
        yield cluster


@contextmanager
def _registered(client: Client, work: _ShardTask) -> Iterator[str]:
    name = f"coattend-{uuid.uuid4().hex}"
    client.register_plugin(work, name)
    try:
        yield name
    finally:
        with suppress(Exception):  # The scheduler may be gone.
            client.unregister_worker_plugin(name)
