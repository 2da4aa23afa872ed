"""Soft attention, as DUMA's table 6 applies it to multi-choice questions."""

import math

import torch
from torch import Tensor, nn

from coattend.readers.interactions.configs import SoftAttentionConfig
from coattend.readers.interfaces import Attended, Encoded, EncoderShape
from coattend.readers.layers.initializers import linear
from coattend.readers.layers.masked import masked_softmax


class SoftAttention(nn.Module):
    """The passage as each token of question and option attends to it (Bahdanau et al. 2015; DUMA, section 6.2).

    "We multiply the attention matrix with passage representations to obtain question-aware passage representations, and
    then feed them into the decoder": R_i = sum_j softmax_j(e_ij) W^V p_j, for each question token q_i. DUMA's table 8
    gives it 3 H^2 parameters, so three maps of the width: W^Q q, W^K p and W^V p. With ``additive`` e_ij is Bahdanau's
    v . tanh(W^Q q_i + W^K p_j), which takes memory for P x Q x H numbers; with ``product``, the default, it is their
    scaled product.

    With ``keep_maps`` the map ``question_attention`` [S, Q, P] is the attention of the question's tokens.
    """

    Config = SoftAttentionConfig

    def __init__(self, config: SoftAttentionConfig, shape: EncoderShape) -> None:
        super().__init__()
        width = shape.hidden_size
        self.query, self.key, self.value = linear(width, width), linear(width, width), linear(width, width)
        self.score = linear(width, 1, bias=False) if config.comparison == "additive" else None
        self.keep_maps = False

    def forward(self, encoded: Encoded) -> Attended:
        """Return the passage as the question's tokens attend to it: R, as the question's stream [S, Q, H]."""
        scores = self._scores(self.query(encoded.question), self.key(encoded.passage))  # e [S, Q, P]
        attention = masked_softmax(scores, encoded.passage_mask.unsqueeze(1))
        maps = {"question_attention": attention} if self.keep_maps else {}
        return Attended.of(encoded, question=attention @ self.value(encoded.passage), maps=maps)

    def _scores(self, query: Tensor, key: Tensor) -> Tensor:
        if self.score is None:
            return query @ key.transpose(1, 2) / math.sqrt(query.shape[-1])
        scores: Tensor = self.score(torch.tanh(query.unsqueeze(2) + key.unsqueeze(1))).squeeze(-1)
        return scores


PART = SoftAttention
