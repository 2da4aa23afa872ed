"""Coattention of passage and question with sentinels (DCN)."""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from coattend.readers.interactions.configs import CoattentionConfig
from coattend.readers.interfaces import Attended, Encoded, EncoderShape
from coattend.readers.layers.initializers import identity
from coattend.readers.layers.masked import at_least_float32, full_precision, over_passage, over_question
from coattend.readers.layers.recurrent import Recurrence


class Coattention(nn.Module):
    """The coattention encoder of DCN (Xiong et al. 2017, section 2.2), behind its word encodings.

    D is the passage and Q = tanh(W [question] + b), both with a learned sentinel at the end, for tokens that have
    nothing to attend to. L = D^T Q, A^Q = softmax(L) over the passage, A^D = softmax(L^T) over the other,
    C^Q = D A^Q, C^D = [Q; C^Q] A^D, U = biLSTM([D; C^D]). The sentinels take part in the sums; their own rows are
    dropped.

    With ``keep_maps`` the maps are ``sees_question`` [S, P, Q], the attention of each passage token to the question
    (A^D), and ``sees_passage`` [S, P, Q], that of each question token to the passage (A^Q). They exclude the sentinels:
    their share of a token's attention is the difference between its sum over the other side and one.
    """

    Config = CoattentionConfig

    def __init__(self, config: CoattentionConfig, shape: EncoderShape) -> None:
        super().__init__()
        width = shape.hidden_size
        self.project = identity(width)
        self.sentinels = nn.Parameter(torch.empty(2, width).uniform_(-0.1, 0.1))
        self.fuse = Recurrence(3 * width, width)
        self.keep_maps = False

    def forward(self, encoded: Encoded) -> Attended:
        """Compute the question-aware passage U [S, P, 2H] from passage [S, P, H] and question [S, Q, H]."""
        with full_precision(encoded.passage):
            passage, question = with_sentinels(encoded, self.sentinels, self.project)
            layer = coattend(passage, question)
            context = layer.sees_question @ torch.cat([question.stream, layer.of_question], -1)  # C^D [S, P + 1, 2H]
            without_sentinel = torch.cat([passage.stream[:, :-1], context[:, :-1]], -1)  # [D; C^D] [S, P, 3H]
        maps = {name: attention[:, :-1, :-1] for name, attention in layer.maps.items()} if self.keep_maps else {}
        return Attended.of(encoded, passage=self.fuse(without_sentinel, encoded.passage_mask), maps=maps)


class Side(NamedTuple):
    """One side of a coattention: its vectors [S, L, H], and a mask that is true at real tokens [S, L]."""

    stream: Tensor
    mask: Tensor


class CoattentionLayer(NamedTuple):
    """Attention and summaries of one layer of coattention.

    Attributes:
        sees_question: Attention of each passage token to each question token [S, P, Q]: A^D, or softmax(A^T).
        sees_passage: Attention of each question token to each passage token [S, P, Q]: A^Q, or softmax(A).
        of_passage: S^D [S, P, H]: the question as each passage token attends to it.
        of_question: S^Q, DCN's C^Q [S, Q, H]: the passage as each question token attends to it.
    """

    sees_question: Tensor
    sees_passage: Tensor
    of_passage: Tensor
    of_question: Tensor

    @property
    def maps(self) -> dict[str, Tensor]:
        """Both attentions, by name."""
        return {"sees_question": self.sees_question, "sees_passage": self.sees_passage}


def coattend(passage: Side, question: Side) -> CoattentionLayer:
    """Let two sides, [S, P, H] and [S, Q, H], attend to each other (DCN+, equations 3 and 4)."""
    affinity = passage.stream @ question.stream.transpose(1, 2)  # A [S, P, Q]
    sees_question, sees_passage = over_question(affinity, question.mask), over_passage(affinity, passage.mask)
    return CoattentionLayer(
        sees_question=sees_question,
        sees_passage=sees_passage,
        of_passage=sees_question @ question.stream,
        of_question=sees_passage.transpose(1, 2) @ passage.stream,
    )


def with_sentinels(encoded: Encoded, sentinels: Tensor, project: nn.Module) -> tuple[Side, Side]:
    """Append the sentinels [2, H] of passage and question, and pass the question through a tanh layer.

    These are DCN+'s equations 1 and 2; ``project`` is the layer before the tanh.
    """
    passage, question = at_least_float32(encoded.passage), at_least_float32(encoded.question)
    rows = len(passage)
    visible = encoded.passage_mask.new_ones(rows, 1)
    passage_sentinel, question_sentinel = (sentinel.expand(rows, 1, -1) for sentinel in sentinels)
    question = torch.tanh(project(torch.cat([question, question_sentinel], 1)))
    return (
        Side(torch.cat([passage, passage_sentinel], 1), torch.cat([encoded.passage_mask, visible], 1)),
        Side(question, torch.cat([encoded.question_mask, visible], 1)),
    )


PART = Coattention
