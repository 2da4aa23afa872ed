"""The attention of the CAS Reader: the question's tokens attend to the passage one by one and come to a consensus."""

from torch import nn

from coattend.readers.interactions.configs import ConsensusAttentionConfig
from coattend.readers.interfaces import Attended, Encoded, EncoderShape
from coattend.readers.layers.masked import masked_softmax, matching, over_passage, weighted_by_mass


class ConsensusAttention(nn.Module):
    """Consensus attention (Cui et al. 2016): s = softmax(f(alpha(1), ..., alpha(n))), f a maximum, sum or average.

    alpha(t) is the softmax over the passage for question token t; f is over the question's real tokens. It has no
    parameter. Heads that read streams receive the passage, weighted by s.

    With ``keep_maps`` the map is ``attention`` alpha [S, P, Q].
    """

    Config = ConsensusAttentionConfig

    def __init__(self, config: ConsensusAttentionConfig, shape: EncoderShape) -> None:
        super().__init__()
        self.merge, self.keep_maps = config.merge, False

    def forward(self, encoded: Encoded) -> Attended:
        """Compute the token mass s [S, P], and the passage [S, P, H] weighted by it."""
        alpha = over_passage(matching(encoded.passage, encoded.question), encoded.passage_mask)
        # f over the question's real tokens.
        real = encoded.question_mask.unsqueeze(1)
        if self.merge == "max":
            merged = alpha.masked_fill(~real, 0.0).amax(-1)
        else:
            merged = (alpha * real).sum(-1) / (real.sum(-1) if self.merge == "average" else 1)
        mass = masked_softmax(merged, encoded.passage_mask)
        passage = weighted_by_mass(encoded.passage, mass, encoded.passage_mask)
        maps = {"attention": alpha} if self.keep_maps else {}
        return Attended.of(encoded, passage=passage, token_mass=mass, maps=maps)


PART = ConsensusAttention
