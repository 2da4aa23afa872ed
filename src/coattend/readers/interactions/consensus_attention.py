"""The attention of the CAS Reader: the question's tokens attend to the passage one by one and come to a consensus."""

import torch
from torch import nn

from coattend.readers.interactions.configs import ConsensusAttentionConfig
from coattend.readers.interfaces import Attended, Encoded, EncoderShape
from coattend.readers.layers.matching import matching, over_passage, weighted_by_mass


class ConsensusAttention(nn.Module):
    """Consensus attention (Cui et al. 2016): s = softmax(f(alpha(1), ..., alpha(n))), f a maximum, sum or average.

    alpha(t) is the softmax over the passage for question token t; f is over the question's real tokens. It has no
    parameter. Heads that read streams receive the passage, weighted by s.

    Args:
        config: Its options.
        shape: The encoder's.
    """

    Config = ConsensusAttentionConfig

    def __init__(self, config: ConsensusAttentionConfig, shape: EncoderShape) -> None:
        super().__init__()
        self.merge, self.keep_maps = config.merge, False

    def forward(self, encoded: Encoded) -> Attended:
        """Let passage and question attend to each other.

        Args:
            encoded: Passage [S, P, H] and question [S, Q, H].

        Returns:
            The token mass [S, P], and the passage [S, P, H] times it. Map: ``attention`` alpha [S, P, Q].
        """
        alpha = over_passage(matching(encoded), encoded)  # [S, P, Q]
        # f over the question's real tokens.
        real = encoded.question_mask.unsqueeze(1)
        if self.merge == "max":
            merged = alpha.masked_fill(~real, 0.0).amax(-1)
        else:
            merged = (alpha * real).sum(-1) / (real.sum(-1) if self.merge == "average" else 1)
        mass = merged.masked_fill(~encoded.passage_mask, -torch.inf).softmax(-1)
        return Attended(
            passage=weighted_by_mass(encoded.passage.to(mass.dtype), mass, encoded.passage_mask),
            question=None,
            passage_mask=encoded.passage_mask,
            question_mask=encoded.question_mask,
            token_mass=mass,
            maps={"attention": alpha} if self.keep_maps else {},
        )


PART = ConsensusAttention
