"""Pooling over real tokens."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from coattend.readers.layers.masked import masked_last, masked_max, masked_mean


@settings(max_examples=40, deadline=None)
@given(
    lengths=st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=1, max_size=3), seed=st.integers(0, 99)
)
def test_pooling_is_over_the_real_tokens_of_all_streams(lengths, seed):
    torch.manual_seed(seed)
    streams, masks = [], []
    for sizes in zip(*lengths, strict=True):
        masks.append(torch.arange(max(sizes) + 2) < torch.tensor(sizes)[:, None])
        streams.append(torch.randn(len(lengths), max(sizes) + 2, 3, dtype=torch.float64) - 2)
        streams[-1][~masks[-1]] = 50.0
    mean, highest, last = (pool(streams, masks) for pool in (masked_mean, masked_max, masked_last))
    for row in range(len(lengths)):
        assert torch.equal(last[row], streams[1][row, lengths[row][1] - 1])
        tokens = [
            token for stream, mask in zip(streams, masks, strict=True) for token in stream[row][mask[row]].tolist()
        ]
        for h in range(3):
            values = [token[h] for token in tokens]
            assert mean[row, h].item() == pytest.approx(sum(values) / len(values), abs=1e-12)
            assert highest[row, h].item() == max(values)


def test_the_gradient_of_the_maximum_goes_to_the_token_that_holds_it():
    stream = torch.tensor([[[1.0], [3.0], [2.0], [9.0]]], requires_grad=True)
    masked_max([stream], [torch.tensor([[True, True, True, False]])]).sum().backward()
    assert stream.grad.flatten().tolist() == [0, 1, 0, 0]
