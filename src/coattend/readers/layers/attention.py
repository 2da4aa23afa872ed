"""Scaled dot-product attention, multi-head attention of one stream to another, and the transformer block around it."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu, scaled_dot_product_attention

from coattend.readers.layers.initializers import linear
from coattend.readers.layers.masked import at_least_float32, full_precision, masked_softmax

BLOCK_ELEMENTS = 2**21
"""Attention weights per block of the backward pass: few enough for the processor's cache, enough to amortise a call."""


@dataclass
class LastCall:
    """What the last call of `attend` has compared.

    Attributes:
        query: Queries [S, heads, L, d]; None: there was no call.
        key: Keys [S, heads, M, d].
        mask: True where a query may attend [S, 1, 1 or L, M]; None: everywhere.
    """

    query: Tensor | None = None
    key: Tensor | None = None
    mask: Tensor | None = None


_watching: ContextVar[LastCall | None] = ContextVar("_watching", default=None)


@contextmanager
def watched_attention() -> Iterator[LastCall]:
    """Keep what the last call of `attend` in this thread compares, of which its weights can be computed."""
    token = _watching.set(call := LastCall())
    try:
        yield call
    finally:
        _watching.reset(token)


def attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, *, dropout: float = 0.0) -> Tensor:
    """Compute softmax(Q K^T / sqrt(d)) V.

    On a processor PyTorch's kernel for bf16 is twice as fast as that for float32, and slower backwards. Here the values
    come from the kernel for bf16, and gradients from plain matrix products, a few heads at a time, so that the weights
    are never held as a whole. With dropout, and in wider types, everything is PyTorch's own, in float32 at least.

    Args:
        query: Queries [S, heads, L, d].
        key: Keys [S, heads, M, d].
        value: Values [S, heads, M, d].
        mask: True where a query may attend [S, 1, 1 or L, M]; None: everywhere.
        dropout: Dropout of the attention weights.
    """
    if (call := _watching.get()) is not None:
        call.query, call.key, call.mask = query, key, mask
    with full_precision(query):
        if query.device.type != "cpu":
            # Rotated queries and keys are in float32, and kernels take one type.
            query, key = query.to(value.dtype), key.to(value.dtype)
            return scaled_dot_product_attention(query, key, value, attn_mask=mask, dropout_p=dropout)
        if query.dtype == torch.bfloat16 and not dropout:
            attended: Tensor = _HalfPrecision.apply(query, key, value, mask)  # type: ignore[no-untyped-call]
            return attended
        query, key, value = (at_least_float32(stream) for stream in (query, key, value))
        return scaled_dot_product_attention(query, key, value, attn_mask=mask, dropout_p=dropout)


def attention_weights(query: Tensor, key: Tensor, mask: Tensor | None) -> Tensor:
    """Compute softmax(Q K^T / sqrt(d)), which `attend` never holds as a whole [S, heads, L, M], in float32 at least."""
    with full_precision(query):
        scores = at_least_float32(query) @ at_least_float32(key).mT / math.sqrt(query.shape[-1])
        return scores.softmax(-1) if mask is None else masked_softmax(scores, mask)


class _HalfPrecision(torch.autograd.Function):
    """Attention in bf16 on a processor: PyTorch's kernel forwards, blocks of matrix products backwards."""

    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        ctx.save_for_backward(query, key, value, mask)
        return scaled_dot_product_attention(query, key, value, attn_mask=mask)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        query, key, value, mask = ctx.saved_tensors
        scale = query.shape[-1] ** -0.5
        # Sequences and heads become one dimension [S x heads, L or M, d].
        queries, keys, values, gradients = (stream.flatten(0, 1) for stream in (query, key, value, gradient))
        bias = _score_bias(mask, query, key)
        sequence = torch.arange(len(queries)) // query.shape[1]
        query_grad, key_grad, value_grad = (torch.empty_like(stream) for stream in (queries, keys, values))
        heads_per_block = max(1, BLOCK_ELEMENTS // (query.shape[2] * key.shape[2]))
        for start in range(0, len(queries), heads_per_block):
            block = slice(start, start + heads_per_block)
            # The weights are computed again, which takes less time than keeping them from the forward pass. They and
            # their gradient stay in float32: a score's gradient is a difference, which rounding would blur.
            scores = torch.baddbmm(bias[sequence[block]], queries[block].float(), keys[block].float().mT, alpha=scale)
            weights = scores.softmax(-1)
            torch.bmm(weights.to(values.dtype).mT, gradients[block], out=value_grad[block])
            weight_grad = torch.bmm(gradients[block].float(), values[block].float().mT)
            score_grad = torch._softmax_backward_data(weight_grad, weights, -1, torch.float32).to(keys.dtype)
            torch.bmm(score_grad, keys[block], out=query_grad[block])
            torch.bmm(score_grad.mT, queries[block], out=key_grad[block])
        return query_grad.mul_(scale).view_as(query), key_grad.mul_(scale).view_as(key), value_grad.view_as(value), None


def _score_bias(mask: Tensor | None, query: Tensor, key: Tensor) -> Tensor:
    """Turn a mask into a bias of the scores [S, 1 or L, M], the same for all heads: 0, or so low that a key has no
    weight."""
    if mask is None:
        return torch.zeros(1).expand(len(query), 1, key.shape[2])
    if mask.stride(2) == 0:  # All queries may attend to the same keys, though the mask is expanded over them.
        mask = mask[:, :, :1]
    return torch.zeros_like(mask, dtype=torch.float32).masked_fill_(~mask, torch.finfo(torch.float32).min).squeeze(1)


class MultiHeadAttention(nn.Module):
    """MHA(Query, Key, Value) of DUMA, equation 1, with Key = Value.

    Args:
        width: H.
        heads: Number of heads.
        head_width: Width d_k of a head; None: H / heads.
        projected: Whether W^O follows; required unless all heads together are H wide.
    """

    def __init__(
        self,
        width: int,
        heads: int,
        *,
        projected: bool,
        head_width: int | None = None,
        bias: bool = True,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        inner = width if head_width is None else heads * head_width
        self.query, self.key, self.value = (linear(width, inner, bias=bias) for _ in range(3))
        self.output = linear(inner, width, bias=bias) if projected else nn.Identity()
        self.heads, self.dropout = heads, dropout

    def forward(self, queries: Tensor, keys: Tensor, mask: Tensor) -> Tensor:
        """Attend from a stream [S, L, H] to another [S, M, H], whose real tokens the mask [S, M] marks: [S, L, H]."""
        query, key, value = map(self._split, (self.query(queries), self.key(keys), self.value(keys)))
        dropout = self.dropout if self.training else 0.0
        heads = attend(query, key, value, mask[:, None, None], dropout=dropout)  # [S, heads, L, H / heads]
        attended: Tensor = self.output(heads.transpose(1, 2).flatten(2))
        return attended

    def weights(self, queries: Tensor, keys: Tensor, mask: Tensor) -> Tensor:
        """Compute softmax(Q K^T / sqrt(d_k)), without dropout [S, heads, L, M]."""
        return attention_weights(self._split(self.query(queries)), self._split(self.key(keys)), mask[:, None, None])

    def _split(self, stream: Tensor) -> Tensor:
        heads: Tensor = stream.unflatten(-1, (self.heads, -1))
        return heads.transpose(1, 2)


class TransformerBlock(nn.Module):
    """Attention, add & norm, feed-forward, add & norm (DUMA, section 6.1); the residual is the attending stream.

    The feed-forward layer is four times as wide, with GELU between, as in BERT.
    """

    def __init__(self, attention: MultiHeadAttention, width: int) -> None:
        super().__init__()
        self.attention = attention
        self.widen, self.narrow = linear(width, 4 * width), linear(4 * width, width)
        self.after_attention, self.after_feed_forward = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, queries: Tensor, keys: Tensor, mask: Tensor) -> Tensor:
        """Attend, as `MultiHeadAttention` does: [S, L, H], [S, M, H], [S, M] to [S, L, H]."""
        attended = self.after_attention(queries + self.attention(queries, keys, mask))
        stream: Tensor = self.after_feed_forward(attended + self.narrow(gelu(self.widen(attended))))
        return stream

    def weights(self, queries: Tensor, keys: Tensor, mask: Tensor) -> Tensor:
        """Compute its attention's weights, as `MultiHeadAttention.weights` does: [S, heads, L, M]."""
        return self.attention.weights(queries, keys, mask)
