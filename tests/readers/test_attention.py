"""Attention in half precision beside PyTorch's own in double precision."""

from contextlib import nullcontext

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import scaled_dot_product_attention

from coattend.readers.encoders.pretrained import shared_by_queries, use_own_attention
from coattend.readers.layers import attention as module
from coattend.readers.layers.attention import attend

ROUNDING = 0.008
"""bf16 has eight binary digits; sums of rounded terms stay within two of the last one's units."""


def streams(sequences, heads, query_length, key_length, *, seed=0):
    """Queries, keys and values as a projection leaves them: heads apart, in bf16."""
    torch.manual_seed(seed)
    lengths = (query_length, key_length, key_length)
    return [torch.randn(sequences, length, heads, 8).bfloat16().transpose(1, 2) for length in lengths]


def with_gradients(attention, inputs, weights):
    """The attended values, and the gradients of their weighted sum."""
    leaves = [stream.detach().requires_grad_() for stream in inputs]
    attended = attention(*leaves)
    (attended * weights.to(attended.dtype)).sum().backward()
    return [attended.detach().double(), *(leaf.grad.double() for leaf in leaves)]


def relative_errors(actual, exact):
    return [
        float((stream - expected).norm() / expected.norm().clamp_min(1e-6))
        for stream, expected in zip(actual, exact, strict=True)
    ]


@settings(max_examples=25, deadline=None)
@given(
    sequences=st.integers(1, 3),
    heads=st.integers(1, 3),
    query_length=st.integers(1, 17),
    key_length=st.integers(2, 17),
    mask_shape=st.sampled_from(["none", "keys", "keys of each query"]),
    block_elements=st.sampled_from([1, 300, 2**21]),
)
def test_values_and_gradients_are_those_of_double_precision(
    sequences, heads, query_length, key_length, mask_shape, block_elements
):
    inputs = streams(sequences, heads, query_length, key_length)
    mask = None
    if mask_shape != "none":
        rows = query_length if mask_shape == "keys of each query" else 1
        mask = torch.rand(sequences, 1, rows, key_length) < 0.6
        mask[..., 0] = True
        if mask_shape == "keys":
            mask = mask.expand(-1, -1, query_length, -1)
    # Rounded, so that both get the same gradient: where its terms cancel, another one would show as an error.
    weights = torch.randn(sequences, heads, query_length, 8).bfloat16()
    exact = with_gradients(
        lambda *leaves: scaled_dot_product_attention(*leaves, attn_mask=mask),
        [stream.double() for stream in inputs],
        weights,
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BLOCK_ELEMENTS", block_elements)
        actual = with_gradients(lambda *leaves: attend(*leaves, mask), inputs, weights)
    assert max(relative_errors(actual, exact)) < ROUNDING


def test_a_hidden_key_has_no_gradient_and_nothing_is_lost_to_a_query_without_keys():
    query, key, value = streams(2, 2, 5, 6)
    mask = torch.ones(2, 1, 1, 6, dtype=torch.bool)
    mask[0, ..., 4:] = False
    mask[1] = False
    _, of_query, of_key, of_value = with_gradients(
        lambda *leaves: attend(*leaves, mask), (query, key, value), torch.ones(2, 2, 5, 8)
    )
    assert not of_key[0, :, 4:].any()
    assert not of_value[0, :, 4:].any()
    assert all(stream.isfinite().all() for stream in (of_query, of_key, of_value))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_wider_types_are_attended_to_by_pytorch_itself(dtype):
    inputs = [stream.to(dtype) for stream in streams(2, 2, 5, 6)]
    assert torch.equal(attend(*inputs, None), scaled_dot_product_attention(*inputs))


def test_rotated_queries_and_keys_take_the_type_of_values_off_processors(monkeypatch):
    """Rotations are in float32. The device has no numbers and no autocast, and refuses several types as GPUs do."""
    monkeypatch.setattr(module, "full_precision", nullcontext)
    query, key, value = (stream.to("meta") for stream in streams(2, 2, 5, 6))
    assert attend(query.float(), key.float(), value.bfloat16(), None).dtype == torch.bfloat16
    with pytest.raises(RuntimeError, match="same dtype"):
        scaled_dot_product_attention(query.float(), key.float(), value.bfloat16())


def test_autocast_does_not_round_what_is_given_in_full():
    inputs = [stream.float() for stream in streams(2, 2, 5, 6)]
    exact = attend(*inputs, None)
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(attend(*inputs, None), exact)


def test_a_mask_of_padding_is_held_once_for_all_queries():
    from transformers import BertConfig, BertModel
    from transformers.masking_utils import create_bidirectional_mask

    sizes = {"hidden_size": 8, "num_attention_heads": 2, "num_hidden_layers": 1, "intermediate_size": 8}
    model = BertModel(BertConfig(vocab_size=9, **sizes))
    use_own_attention(model)
    padded = torch.tensor([[1, 1, 1, 0], [1, 1, 0, 0]])
    mask = create_bidirectional_mask(model.config, torch.zeros(2, 4, 8), padded)
    assert mask.shape == (2, 1, 4, 4) and mask.stride(2) == 0
    assert torch.equal(mask, padded.bool()[:, None, None].expand(-1, -1, 4, -1))

    of_each = torch.ones(4, 4, dtype=torch.bool).tril().expand(2, 1, -1, -1)
    assert shared_by_queries(of_each) is of_each
