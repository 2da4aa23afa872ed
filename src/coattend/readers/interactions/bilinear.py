"""The attention of the Stanford Attentive Reader."""

from torch import nn

from coattend.readers.interactions.configs import BilinearConfig
from coattend.readers.interfaces import Attended, Encoded, EncoderShape
from coattend.readers.layers.initializers import identity
from coattend.readers.layers.masked import expectation, pointer_softmax


class Bilinear(nn.Module):
    """The Stanford Attentive Reader (Chen et al. 2016, section 3.2): alpha_i = softmax_i(q^T W_s p_i), o = sum alpha p.

    q is the question's state, p_i the passage's token i. There is no layer behind o: it scores the answers directly.

    With ``keep_maps`` the map is ``attention`` alpha [S, P].
    """

    Config = BilinearConfig

    def __init__(self, config: BilinearConfig, shape: EncoderShape) -> None:
        super().__init__()
        self.match = identity(shape.hidden_size, bias=False)
        self.keep_maps = False

    def forward(self, encoded: Encoded) -> Attended:
        """Compute the token mass alpha [S, P] and the summary o [S, H]."""
        mass = pointer_softmax(encoded.passage, self.match(encoded.question_state), encoded.passage_mask)  # W_s^T q
        summary = expectation(mass, encoded.passage)
        maps = {"attention": mass} if self.keep_maps else {}
        return Attended.of(encoded, token_mass=mass, summary=summary, maps=maps)


PART = Bilinear
