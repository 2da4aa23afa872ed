"""The attention of the Stanford Attentive Reader."""

from collections.abc import Set

import torch
from torch import nn

from coattend.readers.attended import Attended, Encoded
from coattend.readers.linear import identity
from coattend.readers.parts import EncoderShape, InteractionConfig
from coattend.readers.precision import at_least_float32, full_precision


class Bilinear(nn.Module):
    """The Stanford Attentive Reader (Chen et al. 2016, section 3.2): alpha_i = softmax_i(q^T W_s p_i), o = sum alpha p.

    q is the question's state, p_i the passage's token i. There is no layer behind o: it scores the answers itself.

    Args:
        config: It has no options.
        shape: The encoder's.
    """

    class Config(InteractionConfig):
        """No options."""

        def fills(self, given: Set[str]) -> frozenset[str]:
            """The summary o and the token mass alpha."""
            return frozenset({"summary", "token_mass"})

    def __init__(self, config: Config, shape: EncoderShape) -> None:
        super().__init__()
        self.match = identity(shape.hidden_size, bias=False)

    def forward(self, encoded: Encoded) -> Attended:
        """Attend.

        Args:
            encoded: Passage [S, P, H] and the question's state [S, H].

        Returns:
            The summary o [S, H] and the token mass alpha [S, P].
        """
        asked = self.match(encoded.question_state)  # W_s^T q [S, H]
        with full_precision(encoded.passage):
            passage = at_least_float32(encoded.passage)
            scores = (passage @ at_least_float32(asked).unsqueeze(-1)).squeeze(-1)
            mass = scores.masked_fill(~encoded.passage_mask, -torch.inf).softmax(-1)
            summary = (mass.unsqueeze(1) @ passage).squeeze(1)
        return Attended(
            passage=None,
            question=None,
            passage_mask=encoded.passage_mask,
            question_mask=encoded.question_mask,
            token_mass=mass,
            summary=summary,
        )


PART = Bilinear
