"""Attention over attention: each question token's attention to the passage, weighted by its importance (AoA Reader)."""

import math

import torch
from torch import nn

from coattend.readers.interactions.configs import AttentionOverAttentionConfig
from coattend.readers.interfaces import Attended, Encoded, EncoderShape
from coattend.readers.layers.masked import full_precision, matching, over_passage, over_question, weighted_by_mass
from coattend.readers.layers.recurrent import Recurrence


class AttentionOverAttention(nn.Module):
    """Attention over attention (AoA Reader, equations 5 to 10).

    M(i, j) = h_doc(i) . h_query(j) is ``match``; alpha(j), the softmax over the passage for question token j, is
    ``alpha``; beta(i), the softmax over the question for passage token i, is ``beta``, and the mean of all beta(i) over
    the passage's real tokens is ``question_worth``; s = alpha^T beta is the token mass. There is no second softmax, no
    parameter and, as printed, no scale.

    The slides name an "interactive" AoA for spans without an equation. Heads that read streams receive, for each
    token, its own vector, the other side as it attends to it by alpha or beta, and its own vector times its probability
    (s, or beta for the question) and the number of tokens, so that the mean of this third part is the expectation.
    With ``modelling`` a recurrent layer reads the passage once more, from these three parts and the product of the
    first two, as span readers do behind their attention.

    With ``keep_maps`` the maps are ``matching`` M [S, P, Q], which is no probability, and ``question_worth`` beta
    [S, Q].
    """

    Config = AttentionOverAttentionConfig

    def __init__(self, config: AttentionOverAttentionConfig, shape: EncoderShape) -> None:
        super().__init__()
        self.scale = 1 / math.sqrt(shape.hidden_size) if config.scaled else 1.0
        self.model: Recurrence | None = None
        if config.modelling:
            self.model = Recurrence(4 * shape.hidden_size, config.modelling, cell="gru")
        self.keep_maps = False

    def forward(self, encoded: Encoded) -> Attended:
        """Compute the token mass s [S, P] and both streams, [S, P, 3H] and [S, Q, 3H]; or the passage, read again."""
        match = matching(encoded.passage, encoded.question) * self.scale
        alpha, beta = over_passage(match, encoded.passage_mask), over_question(match, encoded.question_mask)
        real = encoded.passage_mask.unsqueeze(-1)
        question_worth = (beta * real).sum(1) / real.sum(1)  # beta, averaged [S, Q]
        with full_precision(match):  # Rounded masses tie, and a tie is no answer.
            mass = (alpha @ question_worth.unsqueeze(-1)).squeeze(-1)  # s [S, P]
        # Each side attends to the other.
        passage, question = encoded.passage.to(match.dtype), encoded.question.to(match.dtype)
        passage_context, question_context = beta @ question, alpha.transpose(1, 2) @ passage
        passage_parts = [passage, passage_context, weighted_by_mass(passage, mass, encoded.passage_mask)]
        maps = {"matching": match, "question_worth": question_worth} if self.keep_maps else {}
        if self.model is not None:
            states = self.model(torch.cat([*passage_parts, passage * passage_context], -1), encoded.passage_mask)
            return Attended.of(encoded, passage=states, maps=maps)
        question_parts = [question, question_context, weighted_by_mass(question, question_worth, encoded.question_mask)]
        return Attended.of(
            encoded,
            passage=torch.cat(passage_parts, -1),
            question=torch.cat(question_parts, -1),
            token_mass=mass,
            maps=maps,
        )


PART = AttentionOverAttention
