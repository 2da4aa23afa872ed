"""The recurrent layer, beside PyTorch's bidirectional layers on packed sequences."""

import oracle
import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from coattend.readers.layers.recurrent import Recurrence, last_states

WIDTH, HIDDEN = 5, 3


def packed(module, stream, mask, cell):
    """PyTorch's states of packed sequences with the same weights, and the last state of each direction."""
    layer_class = {"gru": nn.GRU, "lstm": nn.LSTM}[cell]
    layer = layer_class(WIDTH, HIDDEN, batch_first=True, bidirectional=module.directions == 2).double()
    state = {}
    for direction, suffix in zip(module.layers, ("", "_reverse"), strict=False):
        state |= {f"{name}{suffix}": value for name, value in direction.state_dict().items()}
    layer.load_state_dict(state)
    lengths = mask.sum(1)
    states, last = layer(pack_padded_sequence(stream, lengths, batch_first=True, enforce_sorted=False))
    last = last[0] if cell == "lstm" else last
    return pad_packed_sequence(states, batch_first=True, total_length=mask.shape[1])[0], torch.cat(list(last), -1)


@pytest.mark.parametrize("cell", ["gru", "lstm"])
@pytest.mark.parametrize("directions", [1, 2])
def test_it_is_pytorchs_layer_on_packed_sequences(cell, directions):
    encoded = oracle.encoded(passages=(6, 1, 4), questions=(2, 2, 2), width=WIDTH)
    module = Recurrence(WIDTH, HIDDEN, cell=cell, directions=directions).double()
    stream = encoded.passage.clone().requires_grad_()
    states = module(stream, encoded.passage_mask)
    expected, last = packed(module, stream, encoded.passage_mask, cell)
    torch.testing.assert_close(states, expected, rtol=0, atol=1e-12)
    torch.testing.assert_close(last_states(states, encoded.passage_mask, directions), last, rtol=0, atol=1e-12)
    weights = torch.randn(states.shape, dtype=torch.float64)
    (gradient,), (expected_gradient,) = (
        torch.autograd.grad((output * weights).sum(), stream) for output in (states, expected)
    )
    torch.testing.assert_close(gradient, expected_gradient, rtol=0, atol=1e-12)
    assert gradient[~encoded.passage_mask].abs().max() == 0


@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_each_gate_begins_orthogonal(cell):
    for layer in Recurrence(WIDTH, HIDDEN, cell=cell).layers:
        for gate in layer.weight_hh_l0.split(HIDDEN):
            torch.testing.assert_close(gate @ gate.T, torch.eye(HIDDEN))
        assert layer.bias_ih_l0.abs().max() == layer.bias_hh_l0.abs().max() == 0
