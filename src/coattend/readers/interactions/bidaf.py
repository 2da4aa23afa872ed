"""Bidirectional attention flow, as DUMA's table 6 applies it to multi-choice questions."""

from collections.abc import Set

import torch
from pydantic import Field
from torch import Tensor, nn

from coattend.readers.attended import Attended, Encoded
from coattend.readers.linear import linear
from coattend.readers.parts import EncoderShape, InteractionConfig


class BidirectionalAttentionFlow(nn.Module):
    """BiDAF's attention (Seo et al. 2017, section 2, layer 4), without its recurrent layers.

    S_ij = w . [p_i; q_j; p_i * q_j]. The passage looks at the question, u_i = sum_j softmax_j(S_ij) q_j, and the
    question at the passage, h = sum_i softmax_i(max_j S_ij) p_i, the same for every token. What is handed on is the
    question-aware passage G_i = [p_i; u_i; p_i * u_i; p_i * h], "directly" (DUMA, section 6.2). DUMA's table 8 counts
    0.3 M parameters for it, which w and a classifier do not explain, but a map of the 4H values of G_i to 96 does at
    H = 768: hence ``narrow``, with a tanh behind it, without which it would be one with the classifier. What is padding
    is filled before the maximum over the question is taken, as in the literature of BiDAF.

    With ``keep_maps`` the maps are ``passage_attention`` [S, P, Q], softmax_j(S_ij), and ``question_attention``
    [S, 1, P], softmax_i(max_j S_ij).

    Args:
        config: Its options.
        shape: The encoder's.
    """

    class Config(InteractionConfig):
        """Options of bidirectional attention flow."""

        narrow: int = Field(96, ge=0, description="Width that the 4H values are mapped to; 0: they are not mapped.")

        def fills(self, given: Set[str]) -> frozenset[str]:
            """The passage, question-aware."""
            return frozenset({"passage"}) & given

        def width(self, shape: EncoderShape) -> int:
            """4H, or what they are mapped to."""
            return self.narrow or 4 * shape.hidden_size

    def __init__(self, config: Config, shape: EncoderShape) -> None:
        super().__init__()
        width = shape.hidden_size
        # w . [p; q; p * q] taken apart: no tensor of P x Q x 3H is needed.
        self.of_passage, self.of_question = linear(width, 1, bias=False), linear(width, 1, bias=False)
        self.of_both = nn.Parameter(torch.empty(width).normal_(std=0.02))
        self.map = nn.Sequential(linear(4 * width, config.narrow), nn.Tanh()) if config.narrow else nn.Identity()
        self.keep_maps = False

    def forward(self, encoded: Encoded) -> Attended:
        """Let both streams flow into the passage.

        Args:
            encoded: Passage [S, P, H] and question [S, Q, H].

        Returns:
            The question-aware passage [S, P, ``width``].
        """
        passage, question = encoded.passage, encoded.question
        similarity = self._similarity(passage, question)
        real = similarity.masked_fill(~encoded.question_mask.unsqueeze(1), -torch.inf)  # [S, P, Q]
        to_question = real.softmax(-1)
        seen = to_question @ question  # u [S, P, H]
        highest = real.amax(-1).masked_fill(~encoded.passage_mask, -torch.inf)  # [S, P]
        to_passage = highest.softmax(-1).unsqueeze(1)
        looked_at = to_passage @ passage  # h [S, 1, H]
        aware = torch.cat([passage, seen, passage * seen, passage * looked_at], -1)  # G [S, P, 4H]
        return Attended(
            passage=self.map(aware),
            question=None,
            passage_mask=encoded.passage_mask,
            question_mask=encoded.question_mask,
            maps={"passage_attention": to_question, "question_attention": to_passage} if self.keep_maps else {},
        )

    def _similarity(self, passage: Tensor, question: Tensor) -> Tensor:
        both = (passage * self.of_both) @ question.transpose(1, 2)
        each: Tensor = self.of_passage(passage) + self.of_question(question).transpose(1, 2)
        return each + both


PART = BidirectionalAttentionFlow
