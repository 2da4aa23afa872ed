"""The attention of the Attentive Reader."""

from collections.abc import Set

import torch
from pydantic import Field
from torch import nn

from coattend.readers.attended import Attended, Encoded
from coattend.readers.linear import glorot
from coattend.readers.parts import EncoderShape, InteractionConfig
from coattend.readers.precision import at_least_float32, full_precision

STEEPNESS, WEIGHT = 8, 3
"""How narrow and how high the bump of a comparison begins: for states as small as an LSTM's first ones."""


class Attentive(nn.Module):
    """The Attentive Reader (Hermann et al. 2015, section 2.2; AoA Reader's slides).

    m(t) = tanh(W_ym y_d(t) + W_um u), s(t) = softmax_t(w_ms . m(t)), r = sum_t s(t) y_d(t), g = tanh(W_rg r + W_ug u):
    y_d(t) is the passage's token t, u the question's state, and g what is handed on.

    The printed maps have no bias, and with none the tanh is odd: to begin with, no score knows whether y_d(t) is like
    u, and from a few thousand articles nothing is learned. With ``compares`` W_ym has a bias, and all begins as a
    comparison: m(t) = tanh(8 (y_d(t) - u) ± 1), of which w_ms makes a bump where y_d(t) is u, and g = tanh(r).

    Args:
        config: Its options.
        shape: The encoder's.
    """

    class Config(InteractionConfig):
        """Options of the attention."""

        compares: bool = Field(
            True, description="Whether it begins by comparing tokens with the question; false: as printed, drawn."
        )

        def fills(self, given: Set[str]) -> frozenset[str]:
            """The summary g."""
            return frozenset({"summary"})

    def __init__(self, config: Config, shape: EncoderShape) -> None:
        super().__init__()
        width = shape.hidden_size
        self.of_token = glorot(width, width, bias=config.compares)
        self.of_question = glorot(width, width, bias=False)
        self.score = glorot(width, 1, bias=False)
        self.of_read = glorot(width, width, bias=False)
        self.of_asked = glorot(width, width, bias=False)
        if config.compares:
            self._begin_as_comparison()
        self.keep_maps = False

    @torch.no_grad()
    def _begin_as_comparison(self) -> None:
        same = torch.eye(len(self.of_token.weight))
        sides = torch.ones(len(same))
        sides[1::2] = -1
        self.of_token.weight.copy_(STEEPNESS * same)
        self.of_token.bias.copy_(sides)
        self.of_question.weight.copy_(-STEEPNESS * same)
        self.score.weight.copy_(WEIGHT * sides / len(same) ** 0.5)
        self.of_read.weight.copy_(same)
        self.of_asked.weight.zero_()

    def forward(self, encoded: Encoded) -> Attended:
        """Attend.

        Args:
            encoded: Passage [S, P, H] and the question's state [S, H].

        Returns:
            The summary g [S, H]. Map: ``attention`` s [S, P].
        """
        state = encoded.question_state
        mixed = torch.tanh(self.of_token(encoded.passage) + self.of_question(state).unsqueeze(1))
        with full_precision(encoded.passage):
            scores = at_least_float32(self.score(mixed.to(self.score.weight.dtype))).squeeze(-1)
            mass = scores.masked_fill(~encoded.passage_mask, -torch.inf).softmax(-1)  # s [S, P]
            read = (mass.unsqueeze(1) @ at_least_float32(encoded.passage)).squeeze(1)  # r [S, H]
        return Attended(
            passage=None,
            question=None,
            passage_mask=encoded.passage_mask,
            question_mask=encoded.question_mask,
            summary=torch.tanh(self.of_read(read) + self.of_asked(state)),
            maps={"attention": mass} if self.keep_maps else {},
        )


PART = Attentive
