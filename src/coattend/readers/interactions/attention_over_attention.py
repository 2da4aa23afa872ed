"""Attention over attention: how much each question token's attention to the passage is worth (AoA Reader)."""

import math
from collections.abc import Set

import torch
from pydantic import Field
from torch import nn

from coattend.readers.attended import Attended, Encoded
from coattend.readers.interactions.pairwise import matching, over_passage, over_question, weighed
from coattend.readers.parts import EncoderShape, InteractionConfig


class AttentionOverAttention(nn.Module):
    """Attention over attention (AoA Reader, equations 5 to 10).

    M(i, j) = h_doc(i) . h_query(j) is ``match``; alpha(j), the softmax over the passage for question token j, is
    ``of_passage``; beta(i), the softmax over the question for passage token i, is ``of_question``, and beta their mean
    over the passage's real tokens, ``worth``; s = alpha^T beta is the token mass. There is no second softmax, no
    parameter and, as printed, no scale.

    The slides name an "interactive" AoA for spans without an equation. Heads that read streams are given, for each
    token, its own vector, what it sees on the other side by alpha or beta, and its own vector times its probability
    (s, or beta for the question) and the number of tokens, so that the mean of this third part is the expectation.

    Args:
        config: Its options.
        shape: The encoder's.
    """

    class Config(InteractionConfig):
        """Options of attention over attention."""

        scaled: bool = Field(
            False, description="Whether M is divided by sqrt(H): wide vectors of a transformer saturate its softmaxes."
        )

        def fills(self, given: Set[str]) -> frozenset[str]:
            """Both streams and the token mass."""
            return frozenset({"passage", "question", "token_mass"})

        def width(self, shape: EncoderShape) -> int:
            """3H."""
            return 3 * shape.hidden_size

    def __init__(self, config: Config, shape: EncoderShape) -> None:
        super().__init__()
        self.scale = 1 / math.sqrt(shape.hidden_size) if config.scaled else 1.0
        self.keep_maps = False

    def forward(self, encoded: Encoded) -> Attended:
        """Attend.

        Args:
            encoded: Passage [S, P, H] and question [S, Q, H].

        Returns:
            The token mass s [S, P]; passage [S, P, 3H] and question [S, Q, 3H]. Maps: ``matching`` [S, P, Q],
            ``question_worth`` [S, Q].
        """
        match = matching(encoded) * self.scale
        of_passage, of_question = over_passage(match, encoded), over_question(match, encoded)
        real = encoded.passage_mask.unsqueeze(-1)
        worth = (of_question * real).sum(1) / real.sum(1)  # beta [S, Q]
        mass = (of_passage @ worth.unsqueeze(-1)).squeeze(-1)  # s [S, P]
        passage, question = (stream.to(match.dtype) for stream in (encoded.passage, encoded.question))
        sees_question, sees_passage = of_question @ question, of_passage.transpose(1, 2) @ passage
        return Attended(
            passage=torch.cat([passage, sees_question, weighed(passage, mass, encoded.passage_mask)], -1),
            question=torch.cat([question, sees_passage, weighed(question, worth, encoded.question_mask)], -1),
            passage_mask=encoded.passage_mask,
            question_mask=encoded.question_mask,
            token_mass=mass,
            maps={"matching": match, "question_worth": worth} if self.keep_maps else {},
        )


PART = AttentionOverAttention
