"""The attention of the Stanford Attentive Reader."""

from collections.abc import Set

from torch import nn

from coattend.readers.attended import Attended, Encoded
from coattend.readers.interactions.pairwise import pointed
from coattend.readers.linear import identity
from coattend.readers.parts import EncoderShape, InteractionConfig
from coattend.readers.precision import full_precision


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
        self.keep_maps = False

    def forward(self, encoded: Encoded) -> Attended:
        """Attend.

        Args:
            encoded: Passage [S, P, H] and the question's state [S, H].

        Returns:
            The summary o [S, H] and the token mass alpha [S, P]. Map: ``attention`` alpha [S, P].
        """
        mass = pointed(encoded.passage, self.match(encoded.question_state), encoded.passage_mask)  # W_s^T q
        with full_precision(encoded.passage):
            summary = (mass.unsqueeze(1) @ encoded.passage.to(mass.dtype)).squeeze(1)
        return Attended(
            passage=None,
            question=None,
            passage_mask=encoded.passage_mask,
            question_mask=encoded.question_mask,
            token_mass=mass,
            summary=summary,
            maps={"attention": mass} if self.keep_maps else {},
        )


PART = Bilinear
