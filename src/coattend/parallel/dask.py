"""Map a function over items on the workers of a Dask cluster, of other machines or of this one.

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
from typing import Any, cast

import dask.config
from distributed import Client, Future, KilledWorker, LocalCluster, WorkerPlugin, as_completed, get_worker
from distributed.client import ClosedClientError
from distributed.protocol.pickle import dumps, loads  # noqa: TID251 - Dask sends functions so; see docs/security.md

from coattend.errors import CoattendError, WorkerError
from coattend.parallel.processes import Item, Result, cores

CONNECT_TIMEOUT_S = 5
"""Seconds to wait for the scheduler to answer."""

_item_lock = threading.Lock()

logger = logging.getLogger(__name__)


def map_on_cluster(
    function: Callable[[Item], Result],
    items: Iterable[Item],
    workers: int,
    initializer: Callable[[], None] | None,
    *,
    address: str | None,
    title: str,
) -> Generator[Result, None, None]:
    """Apply a function to items on the workers of a cluster; see `coattend.parallel.engine.map_shards`.

    Without the address of a scheduler, a cluster of ``workers`` processes of this machine is started.
    """
    task = _ShardTask(function, initializer)
    with _client(address, workers) as client, _registered(client, task) as name:
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


class _ShardTask(WorkerPlugin):
    """Function that workers apply to items; the scheduler sends it to each worker once, also to late ones."""

    def __init__(self, function: Callable[[Any], Any], initializer: Callable[[], None] | None) -> None:
        # A worker unpickles it when it has its first item: until then it keeps answering the scheduler.
        self._pickled = dumps((function, initializer))
        self._function: Callable[[Any], Any] | None = None
        self._folder = Path.cwd()

    def __call__(self, item: Any) -> Any:
        with _item_lock:
            self._enter()
            if self._function is None:
                function, initializer = loads(self._pickled)
                if initializer is not None:
                    initializer()
                self._function, self._pickled = function, b""
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


def _do(task_name: str, item: bytes) -> Any:
    task = cast("_ShardTask", get_worker().plugins[task_name])
    return task(loads(item))


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
    threads = max(1, cores() // workers)
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
def _registered(client: Client, task: _ShardTask) -> Iterator[str]:
    name = f"coattend-{uuid.uuid4().hex}"
    client.register_plugin(task, name)
    try:
        yield name
    finally:
        with suppress(Exception):  # The scheduler may be gone.
            client.unregister_worker_plugin(name)
