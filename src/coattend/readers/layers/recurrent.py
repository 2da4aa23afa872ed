"""GRU and LSTM over real tokens only."""

from typing import Literal

import torch
from torch import Tensor, nn

from coattend.readers.layers.masked import at_least_float32, full_precision

Cell = Literal["gru", "lstm"]


class Recurrence(nn.Module):
    """A recurrent layer that never reads padding, in either direction.

    The second direction reads each sequence from its own last token, reversed. That gives the same result as packed
    sequences, whose backward pass takes three to four times as long on a processor.

    Matrices from state to state start orthogonal, gate by gate, those from input to state as Glorot proposes, biases
    at zero. It computes in float32 even under autocast. ``hidden`` is the width of one direction's state.
    """

    def __init__(self, inputs: int, hidden: int, *, cell: Cell = "lstm", directions: int = 2) -> None:
        super().__init__()
        layer_class = {"gru": nn.GRU, "lstm": nn.LSTM}[cell]
        self.layers = nn.ModuleList([layer_class(inputs, hidden, batch_first=True) for _ in range(directions)])
        self.width, self.directions = directions * hidden, directions
        for layer in self.layers:
            for name, parameter in layer.named_parameters():
                _initialize(name, parameter, hidden)

    def forward(self, stream: Tensor, mask: Tensor) -> Tensor:
        """Read a stream [S, L, inputs] into the states of all directions [S, L, ``width``], zero at padding.

        The mask [S, L] is true at real tokens: at least one in each sequence, all in front of the padding.
        """
        with full_precision(stream):
            stream = at_least_float32(stream)
            states = [self.layers[0](stream)[0]]
            if self.directions == 2:
                # Reversing is its own inverse, so the same positions put the states back in order.
                positions = _reversed_positions(mask)
                backward_states, _ = self.layers[1](_reorder(stream, positions))
                states.append(_reorder(backward_states, positions))
            return torch.cat(states, -1) * mask.unsqueeze(-1)


def _reversed_positions(mask: Tensor) -> Tensor:
    """Return the positions that reverse the real tokens and leave padding in place [S, L]."""
    positions = torch.arange(mask.shape[1], device=mask.device).expand_as(mask)
    return torch.where(mask, mask.sum(1, keepdim=True) - 1 - positions, positions)


def _reorder(stream: Tensor, positions: Tensor) -> Tensor:
    return stream.gather(1, positions.unsqueeze(-1).expand_as(stream))


def last_states(states: Tensor, mask: Tensor, directions: int) -> Tensor:
    """Select the state of each direction after its last token, [S, L, H] to [S, H].

    The first direction ends at the last real token, the second at the first.
    """
    rows = torch.arange(len(states), device=states.device)
    last = states[rows, mask.sum(1) - 1]
    if directions == 1:
        return last
    half = states.shape[-1] // 2
    return torch.cat([last[:, :half], states[:, 0, half:]], -1)


def _initialize(name: str, parameter: Tensor, hidden: int) -> None:
    # PyTorch stacks the matrices of all gates in one parameter.
    if "weight_hh" in name:
        for gate in parameter.data.split(hidden):
            nn.init.orthogonal_(gate)
    elif "weight_ih" in name:
        for gate in parameter.data.split(hidden):
            nn.init.xavier_uniform_(gate)
    else:
        nn.init.zeros_(parameter)
