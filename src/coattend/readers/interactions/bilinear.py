"""The attention of the Stanford Attentive Reader."""

from torch import nn

from coattend.readers.interactions.configs import BilinearConfig
from coattend.readers.interfaces import Attended, Encoded, EncoderShape
from coattend.readers.layers.initializers import identity
from coattend.readers.layers.matching import pointer_softmax
from coattend.readers.layers.precision import full_precision


class Bilinear(nn.Module):
    """The Stanford Attentive Reader (Chen et al. 2016, section 3.2): alpha_i = softmax_i(q^T W_s p_i), o = sum alpha p.

    q is the question's state, p_i the passage's token i. There is no layer behind o: it scores the answers directly.

    Args:
        config: No options.
        shape: The encoder's.
    """

    Config = BilinearConfig

    def __init__(self, config: BilinearConfig, shape: EncoderShape) -> None:
        super().__init__()
        self.match = identity(shape.hidden_size, bias=False)
        self.keep_maps = False

    def forward(self, encoded: Encoded) -> Attended:
        """Let passage and question attend to each other.

        Args:
            encoded: Passage [S, P, H] and the question's state [S, H].

        Returns:
            The summary o [S, H] and the token mass alpha [S, P]. Map: ``attention`` alpha [S, P].
        """
        mass = pointer_softmax(encoded.passage, self.match(encoded.question_state), encoded.passage_mask)  # W_s^T q
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
