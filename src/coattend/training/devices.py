"""Where a trial runs, in which precision, and how much memory it takes."""

import platform
from pathlib import Path

import psutil

from coattend.errors import CoattendError
from coattend.parameters import TrainingParameters


def device_of(training: TrainingParameters) -> str:
    """``"cuda"`` or ``"cpu"``.

    Raises:
        CoattendError: If a GPU is asked for and there is none.
    """
    import torch

    if training.device == "cuda" and not torch.cuda.is_available():
        raise CoattendError("there is no GPU", where="training.device: cuda", cure="Set it to auto or cpu")
    if training.device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    return training.device


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
    return f"{name}, {torch.get_num_threads()} threads"


def _processors() -> str:
    try:
        return Path("/proc/cpuinfo").read_text()
    except OSError:
        return ""


class PeakMemory:
    """The most memory that this process was seen to hold, in MiB."""

    def __init__(self) -> None:
        self._process = psutil.Process()
        self.mib = 0.0

    def look(self) -> None:
        """Take a sample."""
        self.mib = max(self.mib, self._process.memory_info().rss / 2**20)
