"""Pooling over real tokens: padding never enters."""

from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor

from coattend.readers.maximum import masked_maximum


def masked_mean(streams: Sequence[Tensor], masks: Sequence[Tensor]) -> Tensor:
    """The mean of all real tokens of one or more streams together.

    Args:
        streams: [S, L, H] each; L may differ.
        masks: True at real tokens, [S, L] each; each sequence has at least one.

    Returns:
        [S, H].
    """
    total = sum((stream * mask.unsqueeze(-1)).sum(1) for stream, mask in zip(streams, masks, strict=True))
    return cast(Tensor, total / sum(mask.sum(1, keepdim=True) for mask in masks))


def masked_max(streams: Sequence[Tensor], masks: Sequence[Tensor]) -> Tensor:
    """The maximum over all real tokens of one or more streams together.

    Args:
        streams: [S, L, H] each; L may differ.
        masks: True at real tokens, [S, L] each; each sequence has at least one.

    Returns:
        [S, H].
    """
    highest = [masked_maximum(stream, mask) for stream, mask in zip(streams, masks, strict=True)]
    return torch.stack(highest).amax(0)
