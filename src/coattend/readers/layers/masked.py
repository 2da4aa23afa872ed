"""Softmax, mean and maximum over real tokens only: padding never enters."""

import math
from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor


def full_precision(tensor: Tensor) -> torch.autocast:
    """Return a context that turns autocast off on a tensor's device, for what bf16 would round too much."""
    return torch.autocast(tensor.device.type, enabled=False)


def at_least_float32(tensor: Tensor) -> Tensor:
    """Return a tensor in float32, or unchanged if its type is wider."""
    return tensor.to(torch.promote_types(tensor.dtype, torch.float32))


# Scores of tokens, and what softmaxes make of them.


def matching(passage: Tensor, question: Tensor) -> Tensor:
    """Compute M(i, j) = h_doc(i) . h_query(j) (AoA Reader, equation 5): [S, P, H] and [S, Q, H] to [S, P, Q]."""
    with full_precision(passage):
        return at_least_float32(passage) @ at_least_float32(question).transpose(1, 2)


def masked_softmax(scores: Tensor, mask: Tensor, dim: int = -1) -> Tensor:
    """Take the softmax over real tokens, where the mask, of as many dimensions as the scores, is true."""
    return scores.masked_fill(~mask, -math.inf).softmax(dim)


def over_passage(scores: Tensor, passage_mask: Tensor) -> Tensor:
    """Take the softmax over the passage [S, P] for each question token: [S, P, Q] to [S, P, Q]."""
    return masked_softmax(scores, passage_mask.unsqueeze(2), 1)


def over_question(scores: Tensor, question_mask: Tensor) -> Tensor:
    """Take the softmax over the question [S, Q] for each passage token: [S, P, Q] to [S, P, Q]."""
    return masked_softmax(scores, question_mask.unsqueeze(1), 2)


def pointer_softmax(passage: Tensor, query: Tensor, mask: Tensor) -> Tensor:
    """Compute the token mass [S, P]: the softmax of the products of the passage [S, P, H] with one vector [S, H]."""
    with full_precision(passage):
        scores = (at_least_float32(passage) @ at_least_float32(query).unsqueeze(-1)).squeeze(-1)
        return masked_softmax(scores, mask)


def expectation(mass: Tensor, stream: Tensor) -> Tensor:
    """Average vectors [S, L, H] by their probabilities [S, L], in full precision: [S, H]."""
    with full_precision(stream):
        return (mass.unsqueeze(1) @ stream.to(mass.dtype)).squeeze(1)


def weighted_by_mass(stream: Tensor, mass: Tensor, mask: Tensor) -> Tensor:
    """Multiply vectors [S, L, H] by their probability [S, L] and the number of real tokens.

    The probability is zero at padding, so that the mean of the results is the expectation.
    """
    return stream.to(mass.dtype) * (mass * mask.sum(1, keepdim=True)).unsqueeze(-1)


# Pooling of streams [S, L, H], whose L may differ, with masks [S, L]; each sequence has at least one real token.


def masked_mean(streams: Sequence[Tensor], masks: Sequence[Tensor]) -> Tensor:
    """Average all real tokens of one or more streams together: [S, H]."""
    total = sum((stream * mask.unsqueeze(-1)).sum(1) for stream, mask in zip(streams, masks, strict=True))
    return cast(Tensor, total / sum(mask.sum(1, keepdim=True) for mask in masks))


def masked_last(streams: Sequence[Tensor], masks: Sequence[Tensor]) -> Tensor:
    """Take the last real token of the last stream: [S, H]."""
    stream, mask = streams[-1], masks[-1]
    last = (mask * torch.arange(mask.shape[1], device=mask.device)).argmax(1)
    return stream[torch.arange(len(stream), device=stream.device), last]


def masked_max(streams: Sequence[Tensor], masks: Sequence[Tensor]) -> Tensor:
    """Take the maximum over all real tokens of one or more streams together: [S, H]."""
    maxima = [masked_maximum(stream, mask) for stream, mask in zip(streams, masks, strict=True)]
    return torch.stack(maxima).amax(0)


def masked_maximum(stream: Tensor, mask: Tensor, weight: Tensor | None = None) -> Tensor:
    """Take the maximum over real tokens of a stream, or of weight [S, L] * stream, in each dimension: [S, H].

    The gradient goes to the tokens that attain the maximum. Only their positions are searched for over the whole
    stream, and that without autograd: this takes a fraction of the time of ``amax`` with its backward pass.
    """
    with torch.no_grad():
        # Adding -inf at padding is one pass over the stream, with the weights fused into it.
        padding = torch.zeros_like(mask, dtype=stream.dtype).masked_fill_(~mask, -math.inf).unsqueeze(-1)
        candidates = stream + padding if weight is None else torch.addcmul(padding, stream, weight.unsqueeze(-1))
        index = candidates.max(1).indices  # [S, H]; argmax is slower.
    maximum = stream.gather(1, index.unsqueeze(1)).squeeze(1)
    return maximum if weight is None else maximum * weight.gather(1, index)
