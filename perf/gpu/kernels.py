"""Attention by each exact kernel that PyTorch has: whole sequences, and passages that are read once for all questions.

Timed are a forward and a backward pass in bf16. Outputs are compared with those of plain products in float32.
"""

import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.flex_attention import BlockMask, create_block_mask, flex_attention
from torch.nn.attention.varlen import varlen_attn
from torch.nn.functional import scaled_dot_product_attention

from coattend.readers.encoders.passage_apart import PassageRows
from coattend.readers.layers.attention import attend
from perf.gpu.machine import Pack, device

SEQUENCES = {
    "MiniLM, dialogues": (64, 12, 128, 32),
    "MiniLM, long passages": (24, 12, 512, 32),
    "BERT-base, dialogues": (64, 12, 128, 64),
    "BERT-base, long passages": (24, 12, 512, 64),
}
"""Sequences, heads, tokens and width of a head; every other sequence has a quarter less tokens."""

ROWS = {"MiniLM, passages once": (32, 12, 384, 16, 24, 32), "BERT-base, passages once": (32, 12, 384, 16, 24, 64)}
"""Passages, heads, tokens of a passage, segments and their tokens, and width of a head; every other passage has a
quarter less tokens."""

FLEXIBLE, FLEXIBLE_ROWS = "MiniLM, long passages", "MiniLM, passages once"
"""Shapes that FlexAttention is tried on, which is compiled for 5 to 10 seconds for each."""

TINY_SEQUENCES = {"tiny": (2, 2, 16, 16)}
TINY_ROWS = {"tiny, passages once": (2, 2, 16, 3, 4, 16)}

KERNELS = {
    "flash": SDPBackend.FLASH_ATTENTION,
    "memory efficient": SDPBackend.EFFICIENT_ATTENTION,
    "cuDNN": SDPBackend.CUDNN_ATTENTION,
    "plain": SDPBackend.MATH,
}
ROUNDS = 20
SAME = 0.02
"""Greatest difference to the output of plain products in float32 of values that are about 1: rounding to bf16."""

Attention = Callable[[Tensor, Tensor, Tensor], Tensor]
"""Attends with queries, keys and values [S, heads, L, d]."""


class Streams(NamedTuple):
    """Queries, keys and values [S, heads, L, d]."""

    query: Tensor
    key: Tensor
    value: Tensor

    @classmethod
    def of(cls, *shape: int) -> "Streams":
        """Draw random ones."""
        generator = torch.Generator(device()).manual_seed(0)
        drawn = (torch.randn(shape, device=device(), generator=generator, dtype=torch.bfloat16) for _ in range(3))
        return cls(*(stream.requires_grad_() for stream in drawn))


def kernels(pack: Pack) -> dict[str, Any]:
    """Time each kernel on each shape, without a mask, with one of padding, and with that of passages read once."""
    figures: dict[str, Any] = {}
    for name, shape in (TINY_SEQUENCES if pack.is_tiny else SEQUENCES).items():
        streams = Streams.of(*shape)
        lengths = torch.full((shape[0],), shape[2], device=device())
        figures[name] = _compare(streams, None, _ways_of_sequences(None) | {"packed": packed(lengths, streams)})
        lengths[::2] -= shape[2] // 4
        mask = (torch.arange(shape[2], device=device()) < lengths.unsqueeze(1))[:, None, None]
        ways = _ways_of_sequences(mask) | {"packed": packed(lengths, streams)}
        if name == FLEXIBLE:
            ways["flex"] = _flexible(padding_mask(lengths, shape))
        figures[f"{name}, padding"] = _compare(streams, mask, ways)
    for name, (passages, heads, passage, segments, tokens, width) in (TINY_ROWS if pack.is_tiny else ROWS).items():
        rows = rows_of(passages, passage, segments, tokens)
        streams = Streams.of(passages, heads, rows.source.shape[1], width)
        ways = {"ours": rows.attend, "one call": partial(attend, mask=pairs_of(rows))}
        if name == FLEXIBLE_ROWS:
            ways["flex"] = _flexible(row_mask(rows))
        figures[name] = _compare(streams, pairs_of(rows), ways)
    return figures


def _ways_of_sequences(mask: Tensor | None) -> dict[str, Attention]:
    ways: dict[str, Attention] = {way: partial(_attend_by, kernel, mask) for way, kernel in KERNELS.items()}
    return ways | {"ours": partial(attend, mask=mask)}


def _attend_by(kernel: SDPBackend, mask: Tensor | None, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    with sdpa_kernel(kernel):
        return scaled_dot_product_attention(query, key, value, attn_mask=mask)


def _flexible(mask: BlockMask) -> Attention:
    # A processor has no compiled kernel for gradients: there it is computed step by step.
    compiled = torch.compile(flex_attention, dynamic=False) if device() == "cuda" else flex_attention
    return cast(Attention, partial(compiled, block_mask=mask))


def padding_mask(lengths: Tensor, shape: tuple[int, ...]) -> BlockMask:
    """Build FlexAttention's mask of padding."""

    def real(sequence: Tensor, _head: Tensor, _query: Tensor, key: Tensor) -> Tensor:
        return key < lengths[sequence]

    return create_block_mask(real, shape[0], None, shape[2], shape[2], device=device())


def row_mask(rows: PassageRows) -> BlockMask:
    """Build FlexAttention's mask of rows of a passage and its segments."""
    owner, real = _owner(rows), rows.passage_mask.sum(1)
    length = owner.shape[1]

    def seen(row: Tensor, _head: Tensor, query: Tensor, key: Tensor) -> Tensor:
        in_passage = (owner[row, key] == -2) & (key < real[row])
        return in_passage | ((owner[row, query] == owner[row, key]) & (owner[row, key] >= 0))

    return create_block_mask(seen, len(owner), None, length, length, device=device())


def _owner(rows: PassageRows) -> Tensor:
    """Return the segment that each token of rows belongs to [A, P + M]; -1 at padding of them, -2 in the passage."""
    return torch.cat([torch.full_like(rows.passage_mask, -2, dtype=torch.long), rows.segment], 1)


def pairs_of(rows: PassageRows) -> Tensor:
    """Return the mask [A, 1, P + M, P + M] that one call takes for all tokens of rows."""
    owner = _owner(rows)
    passage = torch.nn.functional.pad(rows.passage_mask, (0, rows.segment.shape[1]))
    return (passage.unsqueeze(1) | ((owner.unsqueeze(2) == owner.unsqueeze(1)) & (owner >= 0).unsqueeze(1)))[:, None]


def rows_of(count: int, passage: int, segments: int, tokens: int) -> PassageRows:
    """Return rows of passages, each with as many segments of as many tokens."""
    lengths = torch.full((count,), passage, device=device())
    lengths[::2] -= passage // 4
    numbers = torch.arange(count * segments, device=device())
    segment = numbers.view(count, segments).repeat_interleave(tokens, 1)
    column = torch.arange(segments * tokens, device=device()).view(segments, tokens).repeat(count, 1)
    source = torch.zeros(count, passage + segments * tokens, dtype=torch.long, device=device())
    return PassageRows(
        blind=False,
        row=numbers // segments,
        column=column,
        source=source,
        position=source,
        passage_mask=torch.arange(passage, device=device()) < lengths.unsqueeze(1),
        segment=segment,
    )


def packed(lengths: Tensor, streams: Streams) -> Attention:
    """Attend with the real tokens alone, which stand one sequence behind the other already."""
    starts = torch.nn.functional.pad(lengths.cumsum(0), (1, 0)).to(torch.int32)
    longest, heads = streams.query.shape[2], streams.query.shape[1]
    place = (torch.arange(longest, device=device()) < lengths.unsqueeze(1)).flatten().nonzero().squeeze(1)
    tokens = (stream.detach().transpose(1, 2).flatten(0, 1)[place].requires_grad_() for stream in streams)
    query, key, value = tokens

    def attention(*_: Tensor) -> Tensor:
        attended = cast(Tensor, varlen_attn(query, key, value, starts, starts, longest, longest))
        padded = attended.new_zeros(len(lengths) * longest, heads, attended.shape[2]).index_copy(0, place, attended)
        return padded.view(len(lengths), longest, heads, -1).transpose(1, 2)

    return attention


def _compare(streams: Streams, mask: Tensor | None, ways: dict[str, Attention]) -> dict[str, Any]:
    """Return the milliseconds of each way, none where it does not take the shape or gives another result."""
    with torch.no_grad():
        query, key, value = (stream.float() for stream in streams)
        exact = scaled_dot_product_attention(query, key, value, attn_mask=mask)
        real = torch.ones_like(exact[:, :1, :, :1]) if mask is None else _queries(mask, exact)
    seconds: dict[str, float | None] = {}
    differences: dict[str, float | str] = {}
    possible: dict[str, float] = {}
    for way, attention in ways.items():
        try:
            difference = float(((attention(*streams) - exact) * real).abs().max().detach())
            seconds[way] = taken = milliseconds(partial(_pass, attention, streams))
            differences[way] = difference
        except (RuntimeError, NotImplementedError, ValueError) as error:
            differences[way], seconds[way] = f"{type(error).__name__}: {str(error)[:120]}", None
            continue
        if way != "ours" and difference <= SAME:
            possible[way] = taken
    return {
        "milliseconds": seconds,
        "differences": differences,
        "fastest": min(possible, key=lambda way: possible[way]) if possible else None,
    }


def _pass(attention: Attention, streams: Streams) -> None:
    attention(*streams).sum().backward()


def _queries(mask: Tensor, exact: Tensor) -> Tensor:
    """Return 1 at real queries [S, 1, L, 1]: padding's outputs are never looked at."""
    keys = mask.any(2) if mask.shape[2] > 1 else mask[:, :, 0]  # A token that any other sees is real.
    return keys.unsqueeze(3).to(exact.dtype)


def milliseconds(step: Callable[[], None]) -> float:
    """Return the milliseconds of a step: the median of several."""
    times = []
    for _ in range(ROUNDS + 3):
        _wait()
        start = time.perf_counter()
        step()
        _wait()
        times.append(time.perf_counter() - start)
    return round(1000 * statistics.median(times[3:]), 4)


def _wait() -> None:
    if device() == "cuda":
        torch.cuda.synchronize()
