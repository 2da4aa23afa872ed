"""Scaled dot-product attention, with a backward pass of its own in half precision on processors."""

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from coattend.readers.precision import at_least_float32, full_precision

AT_ONCE = 2**21
"""Weights of attention that are computed at once: the fewer, the more often small products are begun; the more, the
farther from the processor's cache they lie."""


def attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, *, dropout: float = 0.0) -> Tensor:
    """softmax(Q K^T / sqrt(d)) V.

    On a processor PyTorch's kernel for bf16 is twice as fast as that for float32, and slower backwards. Here the values
    come from the one for bf16, and gradients from plain matrix products, a few heads at a time, so that the weights are
    never held as a whole. Where weights are dropped, and in wider types, all is PyTorch's own, in float32 at least.

    Args:
        query: Queries [S, heads, L, d].
        key: Keys [S, heads, M, d].
        value: Values [S, heads, M, d].
        mask: True where a query may look [S, 1, 1 or L, M]; None: everywhere.
        dropout: Share of the weights that are dropped.

    Returns:
        The attended values [S, heads, L, d].
    """
    with full_precision(query):
        if query.device.type != "cpu":
            return scaled_dot_product_attention(query, key, value, attn_mask=mask, dropout_p=dropout)
        if query.dtype == torch.bfloat16 and not dropout:
            attended: Tensor = _HalfPrecision.apply(query, key, value, mask)  # type: ignore[no-untyped-call]
            return attended
        query, key, value = (at_least_float32(one) for one in (query, key, value))
        return scaled_dot_product_attention(query, key, value, attn_mask=mask, dropout_p=dropout)


class _HalfPrecision(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        ctx.save_for_backward(query, key, value, mask)
        return scaled_dot_product_attention(query, key, value, attn_mask=mask)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        query, key, value, mask = ctx.saved_tensors
        scale = query.shape[-1] ** -0.5
        queries, keys, values, given = (one.flatten(0, 1) for one in (query * scale, key, value, gradient))
        hidden = _hidden(mask, query, key)
        of_queries, of_keys, of_values = (torch.empty_like(one) for one in (queries, keys, values))
        heads = max(1, AT_ONCE // (query.shape[2] * key.shape[2]))
        for start in range(0, len(queries), heads):
            some = slice(start, start + heads)
            weights = torch.baddbmm(hidden[some], queries[some], keys[some].mT).softmax(-1)
            torch.bmm(weights.mT, given[some], out=of_values[some])
            of_weights = torch.bmm(given[some], values[some].mT)
            of_scores = torch._softmax_backward_data(of_weights, weights, -1, weights.dtype)
            torch.bmm(of_scores, keys[some], out=of_queries[some])
            torch.bmm(of_scores.mT, queries[some], out=of_keys[some])
        return of_queries.mul_(scale).view_as(query), of_keys.view_as(key), of_values.view_as(value), None


def _hidden(mask: Tensor | None, query: Tensor, key: Tensor) -> Tensor:
    """What is added to the scores [S x heads, 1 or L, M]: nothing, or so much that a key has no weight."""
    sequences, heads = query.shape[:2]
    if mask is None:
        return query.new_zeros(1).expand(sequences * heads, 1, key.shape[2])
    if mask.stride(2) == 0:  # All queries may look at the same keys, though the mask says so for each.
        mask = mask[:, :, :1]
    hidden = torch.zeros_like(mask, dtype=query.dtype).masked_fill_(~mask, torch.finfo(query.dtype).min)
    return hidden.expand(sequences, heads, -1, -1).flatten(0, 1)
