"""Device, precision and memory of a process that trains or predicts."""

import ctypes
import gc
import os
import platform
import resource
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from multiprocessing import current_process
from pathlib import Path

from coattend.config import TrainingParameters
from coattend.errors import CoattendError
from coattend.parallel.processes import cores

CPU_CACHE_TOKENS = 2048
"""Padded tokens of an inference batch on a CPU: a transformer's activations then stay near the processor's cache.

Batches of 6,144 tokens take a tenth to a quarter longer. Training batches are larger, as each step updates all weights.
"""

GPU_INFERENCE = 4
"""How many times the padded tokens of a training batch a transformer that was trained whole is asked at once on a GPU,
which waits for small batches. A step keeps some 14 vectors for each token in every layer, and inference some 12 in one.
"""

_TRIM_THRESHOLD, _MMAP_MAX = -1, -4  # Parameter numbers of glibc's `mallopt`.


def device_and_precision(training: TrainingParameters) -> tuple[str, bool]:
    """Choose the device, and whether matrix products run in bf16."""
    device = select_device(training)
    return device, uses_bf16(training, device)


def select_device(training: TrainingParameters) -> str:
    """Choose ``"cuda"`` or ``"cpu"``; this process keeps freed memory on a CPU, and on a GPU leaves cuDNN's attention,
    from then on."""
    import torch

    if training.device == "cuda" and not torch.cuda.is_available():
        raise CoattendError("there is no GPU", where="training.device: cuda", cure="Set it to auto or cpu")
    if training.device == "cuda" or (training.device == "auto" and torch.cuda.is_available()):
        # It plans for a tenth of a second for every new shape, which batches of texts have at almost every step.
        torch.backends.cuda.enable_cudnn_sdp(False)
        return "cuda"
    disable_malloc_trim()
    return "cpu"


def uses_bf16(training: TrainingParameters, device: str) -> bool:
    """Return True if matrix products run in bf16: on demand, or where the hardware is faster in it than in float32."""
    import torch

    if training.precision != "auto":
        return training.precision == "bf16"
    if device == "cuda":
        return bool(torch.cuda.is_bf16_supported())
    return _processor_gains_by_bf16()


def _processor_gains_by_bf16() -> bool:
    """Tell whether the processor itself multiplies in bf16, and is faster in it than in float32.

    PyTorch says so of all with AVX-512, too, on which it emulates bf16 at a quarter of float32's rate. Intel's own
    instructions for it multiply no faster than float32's unless there are matrix units: a step took 1.8 times as long.
    """
    import torch

    instructions = torch.cpu._is_avx512_bf16_supported() and "intel" not in processor_name().lower()
    units = instructions or torch.cpu._is_amx_tile_supported()
    has_them = bool(units) or platform.machine().lower() not in ("x86_64", "amd64")
    return has_them and bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())


def inference_batch_tokens(training: TrainingParameters, *, transformer: bool, trained: bool = False) -> int:
    """Return the budget of padded tokens of an inference batch for a transformer or a recurrent encoder.

    ``trained`` says that a reader is asked that was trained so. If all of its encoder was, a GPU has room for more.
    """
    budget = training.tokens_per_batch
    if transformer and select_device(training) == "cpu":
        return min(budget, CPU_CACHE_TOKENS)
    keeps_all = not (training.frozen or training.lora or training.gradient_checkpointing)
    return GPU_INFERENCE * budget if transformer and trained and keeps_all else budget


@contextmanager
def single_thread() -> Iterator[None]:
    """Compute in one thread meanwhile."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


@contextmanager
def memory_errors(training: TrainingParameters) -> Iterator[None]:
    """Turn the error of a GPU whose memory is full into a message with a cure."""
    import torch

    try:
        yield
    except torch.OutOfMemoryError:
        # Without the error that it comes from, whose frames hold the tensors that filled the memory.
        raise CoattendError(
            f"a batch of {training.tokens_per_batch} tokens does not fit into the GPU's memory",
            where="training.tokens_per_batch",
            cure="Halve it and double training.accumulate, which keeps the steps the same, or set "
            "training.gradient_checkpointing: true",
        ) from None


def concurrent_trials(training: TrainingParameters) -> int:
    """Return the number of trials that this machine runs at once: one per GPU, else one per core and process."""
    if select_device(training) == "cuda":
        return gpu_count() if training.processes == 1 else 1
    return max(1, cores() // training.processes)


def gpu_count() -> int:
    """Count the GPUs that this process can use."""
    import torch

    return torch.cuda.device_count() if torch.cuda.is_available() else 0


def visible_gpus() -> list[str]:
    """Return the GPUs that this process can use, by the names that ``CUDA_VISIBLE_DEVICES`` has for them."""
    count = gpu_count()
    names = os.environ.get("CUDA_VISIBLE_DEVICES")
    return [name.strip() for name in names.split(",")][:count] if names else [str(index) for index in range(count)]


def use_worker_gpu(gpus: Sequence[str]) -> None:
    """Show this worker process one of the GPUs alone, a different one for each worker as far as there are enough.

    It has to come before anything that asks for a GPU, as some packages do when they are imported. Selecting one in
    PyTorch would not last: transformers' arguments select the first.
    """
    os.environ["CUDA_VISIBLE_DEVICES"] = gpus[gpu_index(current_process().name, len(gpus))]


def gpu_index(process_name: str, count: int) -> int:
    """Derive the GPU of a worker from its process name, which ends in the worker's number."""
    # Such as ForkServerProcess-3, or SpawnProcess-9:5 for the fifth child of the ninth process.
    number = process_name.rpartition("-")[2].rpartition(":")[2]
    return int(number) % count if number.isdecimal() else 0


def device_name(device: str) -> str:
    """Return the name of the GPU, or of the processor with its number of threads."""
    import torch

    if device == "cuda":
        return torch.cuda.get_device_name()
    threads = torch.get_num_threads()
    return f"{processor_name()}, {threads} thread{'s' if threads > 1 else ''}"


def processor_name() -> str:
    """Return the name of the processor's model as Linux has it, else its architecture."""
    # Linux names the model once for each core.
    with suppress(OSError):
        models = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
        if models:
            return models[0].partition(":")[2].strip()
    return platform.machine()


def disable_malloc_trim() -> None:
    """Keep freed memory in this process, for the next batch.

    glibc returns each large tensor to Linux as soon as it is freed, and Linux then hands out the same memory, zeroed
    page by page, for the next one: a quarter of the time of a training step. Other C libraries are left alone.
    """
    with suppress(OSError, AttributeError):
        library = ctypes.CDLL(None)
        library.mallopt(_MMAP_MAX, 0)
        library.mallopt(_TRIM_THRESHOLD, -1)


@cache
def freeze_gc() -> None:
    """Exclude all objects that this process holds now, such as modules, from garbage collection; once.

    Accelerate collects garbage before every training, which takes a fifth of a second for modules alone.
    """
    gc.collect()
    gc.freeze()


class PeakMemory:
    """Peak memory since the creation of this object: of the process, or, on a GPU, of PyTorch's allocator."""

    def __init__(self, device: str) -> None:
        self._device = device
        if device == "cuda":
            import torch

            torch.cuda.reset_peak_memory_stats()
            return
        # Memory that was freed and kept goes back to Linux, or it would count.
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).malloc_trim(0)
        # Where Linux does not let a process reset its peak, the peak of its whole life is reported.
        with suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5")

    @property
    def mib(self) -> float:
        """Peak memory in MiB."""
        if self._device == "cuda":
            import torch

            return torch.cuda.max_memory_allocated() / 2**20
        with suppress(OSError):
            for line in Path("/proc/self/status").read_text().splitlines():
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) / 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
