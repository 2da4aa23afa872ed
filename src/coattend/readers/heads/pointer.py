"""Finds the span of a passage by comparing its tokens with a summary of the question."""

import math
from collections.abc import Set

from torch import nn

from coattend.readers.batch import Batch
from coattend.readers.heads.configs import PointerConfig
from coattend.readers.heads.span import answerable, span_loss
from coattend.readers.interfaces import Attended, EncoderShape, require
from coattend.readers.layers.initializers import linear
from coattend.readers.layers.masked import full_precision, masked_mean
from coattend.readers.reader import ReaderOutput


class PointerHead(nn.Module):
    """Token p_i of the passage is a start with the score p_i . (W_s q + b_s) / sqrt(H), and an end likewise.

    q is the mean of the question domain. The head answers for readers whose passage does not know the question, because
    an encoder reads it once for all questions. CLS, position 0, stands for "no answer".
    """

    Config = PointerConfig

    def __init__(self, config: PointerConfig, shape: EncoderShape, provided: Set[str]) -> None:
        super().__init__()
        self.directions = linear(shape.hidden_size, 2 * shape.hidden_size)

    def forward(self, attended: Attended, batch: Batch) -> ReaderOutput:
        """Score each token of the passage [S, P, H] by the question [S, Q, H]; -inf where no answer may lie."""
        passage = require(attended.passage, "attended.passage")
        question = require(attended.question, "attended.question")
        allowed = answerable(batch)
        with full_precision(self.directions.weight):
            dtype = self.directions.weight.dtype
            summary = masked_mean([question.to(dtype)], [attended.question_mask])  # [S, H]
            directions = self.directions(summary).unflatten(-1, (2, -1))  # [S, 2, H]
            logits = passage.to(dtype) @ directions.mT / math.sqrt(passage.shape[-1])  # [S, P, 2]
            start, end = logits.masked_fill(~allowed.unsqueeze(-1), -math.inf).unbind(-1)
            loss = None
            if batch.start is not None and batch.end is not None:
                loss = span_loss(start, end, batch.start, batch.end)
        return ReaderOutput(attended=attended, start=start, end=end, loss=loss)


PART = PointerHead
