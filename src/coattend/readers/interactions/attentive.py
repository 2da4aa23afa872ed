"""The attention of the Attentive Reader."""

import torch
from torch import nn

from coattend.readers.interactions.configs import AttentiveConfig
from coattend.readers.interfaces import Attended, Encoded, EncoderShape
from coattend.readers.layers.initializers import glorot
from coattend.readers.layers.masked import at_least_float32, expectation, full_precision, masked_softmax

STEEPNESS, WEIGHT = 8, 3
"""Initial steepness and height of a comparison's bump: for states as small as those of an untrained LSTM."""


class Attentive(nn.Module):
    """The Attentive Reader (Hermann et al. 2015, section 2.2; AoA Reader's slides).

    m(t) = tanh(W_ym y_d(t) + W_um u), s(t) = softmax_t(w_ms . m(t)), r = sum_t s(t) y_d(t), g = tanh(W_rg r + W_ug u):
    y_d(t) is the passage's token t, u the question's state, and g the output.

    The printed maps have no bias, and without one the tanh is odd: at first no score reflects whether y_d(t) is like u,
    and from a few thousand articles nothing is learned. With ``compares`` W_ym has a bias, and the attention starts as
    a comparison: m(t) = tanh(8 (y_d(t) - u) ± 1), from which w_ms forms a bump where y_d(t) is u, and g = tanh(r).

    With ``keep_maps`` the map is ``attention`` s [S, P].
    """

    Config = AttentiveConfig

    def __init__(self, config: AttentiveConfig, shape: EncoderShape) -> None:
        super().__init__()
        width = shape.hidden_size
        self.of_token = glorot(width, width, bias=config.compares)  # W_ym
        self.of_question = glorot(width, width, bias=False)  # W_um
        self.score = glorot(width, 1, bias=False)  # w_ms
        self.of_read = glorot(width, width, bias=False)  # W_rg
        self.of_asked = glorot(width, width, bias=False)  # W_ug
        if config.compares:
            self._start_as_comparison()
        self.keep_maps = False

    @torch.no_grad()
    def _start_as_comparison(self) -> None:
        # Two tanhs with opposite shifts, subtracted, are a bump: even and odd dimensions take one side each.
        same = torch.eye(len(self.of_token.weight))
        sides = torch.ones(len(same))
        sides[1::2] = -1
        self.of_token.weight.copy_(STEEPNESS * same)
        self.of_token.bias.copy_(sides)
        self.of_question.weight.copy_(-STEEPNESS * same)
        self.score.weight.copy_(WEIGHT * sides / len(same) ** 0.5)
        # g starts as tanh(r).
        self.of_read.weight.copy_(same)
        self.of_asked.weight.zero_()

    def forward(self, encoded: Encoded) -> Attended:
        """Summarise the passage [S, P, H] as the question's state [S, H] attends to it: g [S, H]."""
        state = encoded.question_state
        mixed = torch.tanh(self.of_token(encoded.passage) + self.of_question(state).unsqueeze(1))  # m [S, P, H]
        # s and r are computed in float32 at least, whatever the encoder's precision.
        with full_precision(encoded.passage):
            scores = at_least_float32(self.score(mixed.to(self.score.weight.dtype))).squeeze(-1)
            mass = masked_softmax(scores, encoded.passage_mask)  # s [S, P]
            passage_vector = expectation(mass, encoded.passage)  # r [S, H]
        summary = torch.tanh(self.of_read(passage_vector) + self.of_asked(state))  # g
        return Attended.of(encoded, summary=summary, maps={"attention": mass} if self.keep_maps else {})


PART = Attentive
