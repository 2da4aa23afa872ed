"""Precision for computations that bf16 would round too much."""

import torch
from torch import Tensor


def full_precision(tensor: Tensor) -> torch.autocast:
    """Return a context that turns autocast off on a tensor's device."""
    return torch.autocast(tensor.device.type, enabled=False)


def at_least_float32(tensor: Tensor) -> Tensor:
    """Return a tensor in float32, or unchanged if its type is wider."""
    return tensor.to(torch.promote_types(tensor.dtype, torch.float32))
