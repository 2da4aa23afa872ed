"""Train one trial in several processes, on one machine or several: each takes a share of every batch's questions.

Every process holds the whole reader. Its loss is weighted so that the mean over processes is the loss of the batch, and
gradients are averaged, which gives the gradient of a single process. Machines meet as under torchrun:
the environment gives ``PET_NNODES`` and ``PET_RDZV_ENDPOINT``, and the same command is run on each.
"""

import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar, cast

import torch
from accelerate import PartialState
from accelerate.utils import broadcast_object_list
from torch import distributed

from coattend.errors import CoattendError

Result = TypeVar("Result")

LOSS_WEIGHT, BATCH_WEIGHT = "loss_weight", "batch_weight"
"""Keys of the weights of a process's loss and of the whole batch, beside the tensors of a batch."""

PATIENCE = timedelta(days=1)
"""How long processes wait for the main one, which alone caches outputs of a frozen encoder, asks a teacher and scores
held-out questions."""


def launch(
    function: Callable[..., Result], *arguments: Any, processes: int, name: str, on_gpus: bool = False
) -> Result:
    """Call a picklable function in a group of processes of this machine, which share this process's threads, and return
    the result of the main process. ``name`` is the id of the call: the same on all machines, and unique. With
    ``on_gpus`` each process has a GPU of its own."""
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
    # Searching for unused weights warns if there are none.
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")
    threads = max(1, torch.get_num_threads() // processes)
    try:
        with _restored_signal_handlers():
            results = elastic_launch(config, _run_in_group)(function, arguments, threads, on_gpus)
    except ChildFailedError as error:
        rank, failure = error.get_first_failure()
        raise CoattendError(
            f"process {rank} of the training failed: {failure.message}", where=name, cure="Its log is above"
        ) from error
    return cast(Result, results[min(results)])


@contextmanager
def _restored_signal_handlers() -> Iterator[None]:
    """Turn the launcher's signal exceptions into usual ones, and remove its signal handlers afterwards."""
    from torch.distributed.elastic.multiprocessing.api import SignalException

    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
    handlers = {number: signal.getsignal(number) for number in signals}
    try:
        yield
    except SignalException as error:
        if error.sigval == signal.SIGINT:
            raise KeyboardInterrupt from None
        raise SystemExit(128 + error.sigval) from None
    finally:
        if threading.current_thread() is threading.main_thread():
            for number, handler in handlers.items():
                signal.signal(number, handler)


def _run_in_group(function: Callable[..., Result], arguments: Sequence[Any], threads: int, on_gpus: bool) -> Result:
    torch.set_num_threads(threads)
    os.environ["OMP_NUM_THREADS"] = str(threads)  # Without it accelerate chooses another number.
    backend = "gloo"
    # Objects travel over gloo, gradients of GPUs over NCCL.
    if on_gpus:
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
        backend = "cpu:gloo,cuda:nccl"
    distributed.init_process_group(backend, timeout=PATIENCE)
    # Accelerate remembers the group, and looks for one on processors only if it is told so.
    PartialState(cpu=not on_gpus)
    try:
        return function(*arguments)
    finally:
        distributed.destroy_process_group()


def broadcast_from_main(function: Callable[[], Result]) -> Result:
    """Call a function in the main process, and return its result in all processes."""
    results = [function() if PartialState().is_main_process else None]
    return cast(Result, broadcast_object_list(results)[0])


@dataclass(frozen=True)
class ShardedCollator:
    """Collates a process's share of a batch, and weights its loss by its terms, so that a term counts the same in every
    batch, however many share it.

    Attributes:
        loss_terms: Returns the number of terms that a question adds to the mean loss of a batch.
        terms_per_batch: Terms of an average batch, whose weight is 1.
    """

    collate: Callable[[Sequence[Any]], dict[str, Any]]
    loss_terms: Callable[[Any], int]
    terms_per_batch: float
    rank: int
    processes: int

    def __call__(self, examples: Sequence[Any]) -> dict[str, Any]:
        """Return the tensors of every n-th question of a batch, and the weights of their loss and of the whole batch; a
        process without a question gets the first one with weight zero."""
        shard = examples[self.rank :: self.processes]
        shard_weight, batch_weight = (
            sum(map(self.loss_terms, questions)) / self.terms_per_batch for questions in (shard, examples)
        )
        weights = {LOSS_WEIGHT: shard_weight * self.processes, BATCH_WEIGHT: batch_weight}
        return self.collate(shard or examples[:1]) | weights
