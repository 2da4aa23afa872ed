"""Where a trial runs, in which precision, and how much memory it takes."""

import platform
import resource
from contextlib import suppress
from multiprocessing import current_process
from pathlib import Path

from coattend.errors import CoattendError
from coattend.parameters import TrainingParameters
from coattend.training.freed_memory import give_freed_memory_back, keep_freed_memory


def device_of(training: TrainingParameters) -> str:
    """``"cuda"``, or ``"cpu"``, on which this process then keeps its freed memory.

    Raises:
        CoattendError: If a GPU is asked for and there is none.
    """
    import torch

    if training.device == "cuda" and not torch.cuda.is_available():
        raise CoattendError("there is no GPU", where="training.device: cuda", cure="Set it to auto or cpu")
    if training.device == "cuda" or (training.device == "auto" and torch.cuda.is_available()):
        return "cuda"
    keep_freed_memory()
    return "cpu"


def gpus() -> int:
    """How many GPUs this process sees."""
    import torch

    return torch.cuda.device_count() if torch.cuda.is_available() else 0


def take_a_gpu() -> None:
    """Let a worker process of this machine work on a GPU of its own, as far as there are enough."""
    if count := gpus():
        import torch

        torch.cuda.set_device(gpu_of(current_process().name, count))


def gpu_of(process: str, count: int) -> int:
    """Which of so many GPUs a worker process takes, by its name, whose end counts the processes of one parent."""
    number = process.rpartition("-")[2].rpartition(":")[2]
    return int(number) % count if number.isdecimal() else 0


def uses_bf16(training: TrainingParameters, device: str) -> bool:
    """Whether matrix products run in bf16: on demand, or where the hardware has it."""
    import torch

    if training.precision != "auto":
        return training.precision == "bf16"
    if device == "cuda":
        return torch.cuda.is_bf16_supported()
    return bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())


def device_name(device: str) -> str:
    """What the hardware is called."""
    import torch

    if device == "cuda":
        return torch.cuda.get_device_name()
    models = [line for line in _processors().splitlines() if line.startswith("model name")]
    name = models[0].partition(":")[2].strip() if models else platform.machine()
    threads = torch.get_num_threads()
    return f"{name}, {threads} thread{'s' if threads > 1 else ''}"


def _processors() -> str:
    try:
        return Path("/proc/cpuinfo").read_text()
    except OSError:
        return ""


class PeakMemory:
    """The most memory that was held since this was made: the process's own, or, on a GPU, PyTorch's there.

    Args:
        device: ``"cpu"`` or ``"cuda"``.
    """

    def __init__(self, device: str) -> None:
        self._device = device
        if device == "cuda":
            import torch

            torch.cuda.reset_peak_memory_stats()
            return
        give_freed_memory_back()
        with suppress(OSError):  # Where Linux does not let a process forget its peak, it is the peak of its whole life.
            Path("/proc/self/clear_refs").write_text("5")

    @property
    def mib(self) -> float:
        """In MiB."""
        if self._device == "cuda":
            import torch

            return torch.cuda.max_memory_allocated() / 2**20
        with suppress(OSError):
            for line in Path("/proc/self/status").read_text().splitlines():
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) / 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
