"""Where bf16 is not precise enough."""

import torch
from torch import Tensor


def full_precision(tensor: Tensor) -> torch.autocast:
    """A context in which autocast is off on a tensor's device."""
    return torch.autocast(tensor.device.type, enabled=False)


def at_least_float32(tensor: Tensor) -> Tensor:
    """A tensor in float32, or as it is if it is wider."""
    return tensor.to(torch.promote_types(tensor.dtype, torch.float32))
