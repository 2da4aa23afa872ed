"""Pooling over real tokens: padding never enters."""

import math
from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor


def masked_mean(streams: Sequence[Tensor], masks: Sequence[Tensor]) -> Tensor:
    """Average all real tokens of one or more streams together.

    Args:
        streams: [S, L, H] each; L may differ.
        masks: True at real tokens, [S, L] each; each sequence has at least one.

    Returns:
        [S, H].
    """
    total = sum((stream * mask.unsqueeze(-1)).sum(1) for stream, mask in zip(streams, masks, strict=True))
    return cast(Tensor, total / sum(mask.sum(1, keepdim=True) for mask in masks))


def masked_max(streams: Sequence[Tensor], masks: Sequence[Tensor]) -> Tensor:
    """Take the maximum over all real tokens of one or more streams together.

    Args:
        streams: [S, L, H] each; L may differ.
        masks: True at real tokens, [S, L] each; each sequence has at least one.

    Returns:
        [S, H].
    """
    maxima = [masked_maximum(stream, mask) for stream, mask in zip(streams, masks, strict=True)]
    return torch.stack(maxima).amax(0)


def masked_maximum(stream: Tensor, mask: Tensor, weight: Tensor | None = None) -> Tensor:
    """Take the maximum over real tokens of a stream, or of weight * stream, in each dimension.

    The gradient goes to the tokens that attain the maximum. Only their positions are searched for over the whole
    stream, and that without autograd: this takes a fraction of the time of ``amax`` with its backward pass.

    Args:
        stream: [S, L, H].
        mask: True at real tokens [S, L]; each sequence has at least one.
        weight: A factor for each token [S, L].

    Returns:
        [S, H].
    """
    with torch.no_grad():
        # Adding -inf at padding is one pass over the stream, with the weights fused into it.
        padding = torch.zeros_like(mask, dtype=stream.dtype).masked_fill_(~mask, -math.inf).unsqueeze(-1)
        candidates = stream + padding if weight is None else torch.addcmul(padding, stream, weight.unsqueeze(-1))
        index = candidates.max(1).indices  # [S, H]; argmax is slower.
    maximum = stream.gather(1, index.unsqueeze(1)).squeeze(1)
    return maximum if weight is None else maximum * weight.gather(1, index)
