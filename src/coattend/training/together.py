"""One trial on several processes, of one machine or of several: each takes a share of every batch's questions.

Every process has the whole reader. It learns from its share, weighed so that the mean of all processes is the mean over
the batch's questions, and their gradients are averaged: what one process alone would learn. Machines meet as torchrun's
do: the environment says ``PET_NNODES`` and ``PET_RDZV_ENDPOINT``, and the same command is given on each.
"""

import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import torch
from torch import distributed

from coattend.engines.local import cores
from coattend.errors import CoattendError

Result = TypeVar("Result")

ALONE = (0, 1)
"""The first process of one."""

SHARE = "share"
"""Name of what stands beside a batch's tensors: what its questions weigh."""


def place() -> tuple[int, int]:
    """Which process of how many this is."""
    return int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))


def is_first() -> bool:
    """Whether this process is the one that writes."""
    return place()[0] == 0


def launch(function: Callable[..., Result], *given: Any, processes: int, name: str) -> Result:
    """Call a function in processes that know of each other.

    Args:
        function: A picklable function; what it returns in the first process is returned.
        given: Its arguments.
        processes: How many of this machine.
        name: The same on all machines, and another for another call.

    Raises:
        CoattendError: If a process fails.
    """
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    machines = int(os.environ.get("PET_NNODES", "1"))
    config = LaunchConfig(
        min_nodes=machines,
        max_nodes=machines,
        nproc_per_node=processes,
        run_id=name,
        rdzv_backend="c10d",
        rdzv_endpoint=os.environ.get("PET_RDZV_ENDPOINT", "localhost:0"),
        max_restarts=0,
        start_method="spawn",
    )
    # Looking for weights that a batch did not need warns where all were needed.
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")
    threads = max(1, cores() // processes)
    try:
        with _own_signals():
            found = elastic_launch(config, _begin)(function, given, threads)
    except ChildFailedError as error:
        rank, failure = error.get_first_failure()
        raise CoattendError(
            f"process {rank} of the training failed: {failure.message}", where=name, cure="Its log is above"
        ) from error
    return found[min(found)]


@contextmanager
def _own_signals() -> Iterator[None]:
    """The launcher answers signals in its own way, and would go on to do so after its end."""
    from torch.distributed.elastic.multiprocessing.api import SignalException

    kept = {
        number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
    }
    try:
        yield
    except SignalException as error:
        if error.sigval == signal.SIGINT:
            raise KeyboardInterrupt from None
        raise SystemExit(128 + error.sigval) from None
    finally:
        if threading.current_thread() is threading.main_thread():
            for number, handler in kept.items():
                signal.signal(number, handler)


def _begin(function: Callable[..., Result], given: Sequence[Any], threads: int) -> Result:
    torch.set_num_threads(threads)
    backend = "gloo"
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
        backend = "cpu:gloo,cuda:nccl"
    distributed.init_process_group(backend)
    try:
        return function(*given)
    finally:
        distributed.destroy_process_group()


def first_first(function: Callable[[], Result]) -> Result:
    """Call a function in the first process, and then in the others, which find what it has written."""
    rank, processes = place()
    if processes == 1:
        return function()
    if rank:
        distributed.barrier()
        return function()
    found = function()
    distributed.barrier()
    return found


def of_first(function: Callable[[], Result]) -> Result:
    """What a function gives in the first process, in all of them."""
    rank, processes = place()
    if processes == 1:
        return function()
    found: list[Any] = [function() if rank == 0 else None]
    distributed.broadcast_object_list(found)
    return found[0]


class Shares:
    """Makes a process's share of a batch.

    Args:
        collate: Makes the tensors of questions.
        losses: Over how many losses the mean of a batch goes for a question.
    """

    def __init__(self, collate: Callable[[Sequence[Any]], dict[str, Any]], losses: Callable[[Any], int]) -> None:
        self._collate, self._losses = collate, losses

    def __call__(self, examples: Sequence[Any]) -> dict[str, Any]:
        """The tensors of every so-many-th question, with what they weigh; of fewer than processes, one weighs nothing.

        Args:
            examples: The questions of the whole batch.
        """
        rank, processes = place()
        own = examples[rank::processes]
        mine, all_of_them = (sum(map(self._losses, some)) for some in (own, examples))
        weight = mine * processes / all_of_them
        return self._collate(own or examples[:1]) | {SHARE: torch.tensor(weight)}
