"""The attention of the AS Reader: every passage token is compared with the question as a whole."""

from torch import nn

from coattend.readers.interactions.configs import AttentionSumConfig
from coattend.readers.interfaces import Attended, Encoded, EncoderShape, require
from coattend.readers.layers.masked import pointer_softmax, weighted_by_mass


class AttentionSum(nn.Module):
    """s_i = softmax_i(f_i(d) . g(q)) (Kadlec et al. 2016, equation 1); it has no parameter.

    f_i(d) is the passage's token i, g(q) the question's state. The head sums over the occurrences of a word. Heads that
    read streams receive the passage with each token weighted by its probability.

    With ``keep_maps`` the map is ``attention`` s [S, P].
    """

    Config = AttentionSumConfig

    def __init__(self, config: AttentionSumConfig, shape: EncoderShape) -> None:
        super().__init__()
        self.keep_maps = False

    def forward(self, encoded: Encoded) -> Attended:
        """Compute the token mass s [S, P], and the passage [S, P, H] weighted by it."""
        query = require(encoded.question_state, "encoded.question_state")
        mass = pointer_softmax(encoded.passage, query, encoded.passage_mask)
        passage = weighted_by_mass(encoded.passage, mass, encoded.passage_mask)
        maps = {"attention": mass} if self.keep_maps else {}
        return Attended.of(encoded, passage=passage, token_mass=mass, maps=maps)


PART = AttentionSum
