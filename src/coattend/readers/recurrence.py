"""GRU and LSTM over real tokens only."""

from typing import Literal

import torch
from torch import Tensor, nn

from coattend.readers.precision import at_least_float32, full_precision

Cell = Literal["gru", "lstm"]


class Recurrence(nn.Module):
    """A recurrent layer in which padding is never seen, in either direction.

    The second direction reads each sequence from its own last token, turned round. That gives what packed sequences
    give, and on a processor their backward pass takes three to four times as long.

    Matrices from state to state begin orthogonal, gate by gate, those from input to state as Glorot has them, biases
    at zero. It computes in float32 even under autocast.

    Args:
        inputs: Width of what it reads.
        hidden: Width of a direction's state.
        cell: ``gru`` or ``lstm``.
        directions: 2 reads from both ends.
    """

    def __init__(self, inputs: int, hidden: int, *, cell: Cell = "lstm", directions: int = 2) -> None:
        super().__init__()
        made = {"gru": nn.GRU, "lstm": nn.LSTM}[cell]
        self.layers = nn.ModuleList([made(inputs, hidden, batch_first=True) for _ in range(directions)])
        self.width, self.directions = directions * hidden, directions
        for layer in self.layers:
            for name, parameter in layer.named_parameters():
                _begin(name, parameter, hidden)

    def forward(self, stream: Tensor, mask: Tensor) -> Tensor:
        """Read.

        Args:
            stream: [S, L, inputs].
            mask: True at real tokens [S, L], of which each sequence has one at least, and which all stand first.

        Returns:
            The states of all directions side by side [S, L, ``width``]; zero at padding.
        """
        with full_precision(stream):
            stream = at_least_float32(stream)
            states = [self.layers[0](stream)[0]]
            if self.directions == 2:
                turned = _turned(mask)
                backwards, _ = self.layers[1](_taken(stream, turned))
                states.append(_taken(backwards, turned))
            return torch.cat(states, -1) * mask.unsqueeze(-1)


def _turned(mask: Tensor) -> Tensor:
    """Where each place lies when real tokens stand in their opposite order and padding where it was [S, L]."""
    places = torch.arange(mask.shape[1], device=mask.device).expand_as(mask)
    return torch.where(mask, mask.sum(1, keepdim=True) - 1 - places, places)


def _taken(stream: Tensor, places: Tensor) -> Tensor:
    return stream.gather(1, places.unsqueeze(-1).expand_as(stream))


def last_states(states: Tensor, mask: Tensor, directions: int) -> Tensor:
    """What each direction knows at its end.

    Args:
        states: States of all directions [S, L, H].
        mask: True at real tokens [S, L].
        directions: 1 or 2.

    Returns:
        [S, H]: of the first direction its state at the last token, of the second its state at the first.
    """
    rows = torch.arange(len(states), device=states.device)
    last = states[rows, mask.sum(1) - 1]
    if directions == 1:
        return last
    half = states.shape[-1] // 2
    return torch.cat([last[:, :half], states[:, 0, half:]], -1)


def _begin(name: str, parameter: Tensor, hidden: int) -> None:
    if "weight_hh" in name:
        for gate in parameter.data.split(hidden):
            nn.init.orthogonal_(gate)
    elif "weight_ih" in name:
        for gate in parameter.data.split(hidden):
            nn.init.xavier_uniform_(gate)
    else:
        nn.init.zeros_(parameter)
