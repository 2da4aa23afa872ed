"""Bidirectional attention flow, as DUMA's table 6 applies it to multi-choice questions."""

import torch
from torch import Tensor, nn

from coattend.readers.interactions.configs import BidafConfig
from coattend.readers.interfaces import Attended, Encoded, EncoderShape
from coattend.readers.layers.initializers import linear
from coattend.readers.layers.masked import masked_softmax


class BidirectionalAttentionFlow(nn.Module):
    """BiDAF's attention (Seo et al. 2017, section 2, layer 4), without its recurrent layers.

    S_ij = w . [p_i; q_j; p_i * q_j]. The passage attends to the question, u_i = sum_j softmax_j(S_ij) q_j, and the
    question to the passage, h = sum_i softmax_i(max_j S_ij) p_i, the same for every token. The output is the
    question-aware passage G_i = [p_i; u_i; p_i * u_i; p_i * h], "directly" (DUMA, section 6.2). DUMA's table 8 counts
    0.3 M parameters for it, which w and a classifier do not explain, but a map of the 4H values of G_i to 96 does at
    H = 768: hence ``narrow``, with a tanh behind it, without which it would merge with the classifier. Padding is
    masked before the maximum over the question is taken, as in the literature of BiDAF.

    With ``keep_maps`` the maps are ``passage_attention`` [S, P, Q], softmax_j(S_ij), and ``question_attention``
    [S, 1, P], softmax_i(max_j S_ij).
    """

    Config = BidafConfig

    def __init__(self, config: BidafConfig, shape: EncoderShape) -> None:
        super().__init__()
        width = shape.hidden_size
        # w . [p; q; p * q] in three parts: no tensor of P x Q x 3H is needed.
        self.of_passage, self.of_question = linear(width, 1, bias=False), linear(width, 1, bias=False)
        self.of_both = nn.Parameter(torch.empty(width).normal_(std=0.02))
        self.map = nn.Sequential(linear(4 * width, config.narrow), nn.Tanh()) if config.narrow else nn.Identity()
        self.keep_maps = False

    def forward(self, encoded: Encoded) -> Attended:
        """Attend in both directions, into the question-aware passage [S, P, ``narrow`` or 4H]."""
        passage, question = encoded.passage, encoded.question
        similarity = self._similarity(passage, question)
        similarity = similarity.masked_fill(~encoded.question_mask.unsqueeze(1), -torch.inf)  # S [S, P, Q]
        # Passage to question: each passage token attends to the question.
        passage_to_question = similarity.softmax(-1)
        question_vectors = passage_to_question @ question  # u [S, P, H]
        # Question to passage: one attention, to the tokens that match any question token.
        question_to_passage = masked_softmax(similarity.amax(-1), encoded.passage_mask).unsqueeze(1)
        passage_vector = question_to_passage @ passage  # h [S, 1, H]
        parts = [passage, question_vectors, passage * question_vectors, passage * passage_vector]
        maps = {"passage_attention": passage_to_question, "question_attention": question_to_passage}
        attended_passage = self.map(torch.cat(parts, -1))  # G [S, P, 4H]
        return Attended.of(encoded, passage=attended_passage, maps=maps if self.keep_maps else {})

    def _similarity(self, passage: Tensor, question: Tensor) -> Tensor:
        product = (passage * self.of_both) @ question.transpose(1, 2)
        single: Tensor = self.of_passage(passage) + self.of_question(question).transpose(1, 2)
        return single + product


PART = BidirectionalAttentionFlow
