"""The attention of the CAS Reader: the question's tokens look at the passage one by one and come to a consensus."""

from collections.abc import Set
from typing import Literal

import torch
from pydantic import Field
from torch import nn

from coattend.readers.attended import Attended, Encoded
from coattend.readers.interactions.pairwise import matching, over_passage, weighed
from coattend.readers.parts import EncoderShape, InteractionConfig


class ConsensusAttention(nn.Module):
    """Consensus attention (Cui et al. 2016): s = softmax(f(alpha(1), ..., alpha(n))), f a maximum, sum or average.

    alpha(t), the softmax over the passage for question token t, is ``of_passage``; f goes over the question's real
    tokens. It has no parameter. Heads that read streams are given the passage, weighed by s.

    Args:
        config: Its options.
        shape: The encoder's.
    """

    class Config(InteractionConfig):
        """Options of consensus attention."""

        merge: Literal["max", "sum", "average"] = Field("sum", description="How the question's tokens agree.")

        def fills(self, given: Set[str]) -> frozenset[str]:
            """The passage, weighed, and the token mass."""
            return frozenset({"passage", "token_mass"})

    def __init__(self, config: Config, shape: EncoderShape) -> None:
        super().__init__()
        self.merge, self.keep_maps = config.merge, False

    def forward(self, encoded: Encoded) -> Attended:
        """Attend.

        Args:
            encoded: Passage [S, P, H] and question [S, Q, H].

        Returns:
            The token mass [S, P], and the passage [S, P, H] times it. Map: ``attention`` alpha [S, P, Q].
        """
        of_passage = over_passage(matching(encoded), encoded)  # [S, P, Q]
        real = encoded.question_mask.unsqueeze(1)
        if self.merge == "max":
            merged = of_passage.masked_fill(~real, 0.0).amax(-1)
        else:
            merged = (of_passage * real).sum(-1) / (real.sum(-1) if self.merge == "average" else 1)
        mass = merged.masked_fill(~encoded.passage_mask, -torch.inf).softmax(-1)
        return Attended(
            passage=weighed(encoded.passage.to(mass.dtype), mass, encoded.passage_mask),
            question=None,
            passage_mask=encoded.passage_mask,
            question_mask=encoded.question_mask,
            token_mass=mass,
            maps={"attention": of_passage} if self.keep_maps else {},
        )


PART = ConsensusAttention
