"""Finds the span of the passage that answers a question, or decides that there is no answer."""

import math
from collections.abc import Set
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, pad

from coattend.readers.batch import Batch
from coattend.readers.heads.configs import SpanConfig
from coattend.readers.interfaces import Attended, EncoderShape, require
from coattend.readers.layers.initializers import linear
from coattend.readers.layers.masked import full_precision
from coattend.readers.reader import ReaderOutput


class SpanHead(nn.Module):
    """One linear layer gives each token of the passage domain a score as start and as end (POI-Net, section 2.4.2).

    CLS, position 0, stands for "no answer". The layer has no bias: it would add the same to every token.
    """

    Config = SpanConfig

    def __init__(self, config: SpanConfig, shape: EncoderShape, provided: Set[str]) -> None:
        super().__init__()
        self.scorer = linear(shape.hidden_size, 2, bias=False)
        self.share, self.softmax = {"sum": 1.0, "mean": 0.5}[config.loss], config.score == "softmax"

    def forward(self, attended: Attended, batch: Batch) -> ReaderOutput:
        """Score each token of the passage [S, P, H] as start and as end; -inf where no answer may lie."""
        passage = require(attended.passage, "attended.passage")
        allowed = answerable(batch)
        with full_precision(self.scorer.weight):
            logits = self.scorer(passage.to(self.scorer.weight.dtype))  # [S, P, 2]
            start, end = logits.masked_fill(~allowed.unsqueeze(-1), -math.inf).unbind(-1)
            # Each cross entropy is over the tokens that an answer may contain.
            loss = None
            if batch.start is not None and batch.end is not None:
                loss = self.share * span_loss(start, end, batch.start, batch.end)
            if self.softmax:
                start, end = (logit.softmax(-1).masked_fill(~allowed, -math.inf) for logit in (start, end))
        return ReaderOutput(attended=attended, start=start, end=end, loss=loss)


def answerable(batch: Batch) -> Tensor:
    """Mark the tokens that an answer may contain [S, P], and CLS, which stands for "no answer"."""
    allowed = require(batch.answer_mask, "batch.answer_mask").clone()
    allowed[:, 0] = True
    return allowed


def span_loss(start_scores: Tensor, end_scores: Tensor, start: Tensor, end: Tensor) -> Tensor:
    """Add the cross entropies of scores [S, P] with the answer's first and last token [S] (POI-Net, 2.4.2)."""
    return cross_entropy(start_scores, start) + cross_entropy(end_scores, end)


@dataclass(frozen=True)
class Spans:
    """The best spans of each sequence, best first.

    Attributes:
        start: First token [S, K], counted in P; 0 behind the last span.
        end: Last token [S, K]; 0 behind the last span.
        score: Start's score + end's score [S, K]; -inf behind the last span.
        null_score: The same for "no answer" [S].
    """

    start: Tensor
    end: Tensor
    score: Tensor
    null_score: Tensor


def best_spans(start: Tensor, end: Tensor, answer_mask: Tensor, *, max_length: int, n_best: int = 1) -> Spans:
    """Find the spans with the highest s_i + e_j, 0 <= j - i < max_length (POI-Net, section 2.4.2).

    Args:
        start: Score of each token as the first, [S, P].
        end: Score of each token as the last, [S, P].
        answer_mask: True at tokens that a span may begin and end with, [S, P].
        max_length: Longest span in tokens.
        n_best: Number K of spans. Of equal spans the one that begins first, then the shorter, comes first.

    Returns:
        The spans, and s_0 + e_0 as the score of "no answer".
    """
    length = start.shape[1]
    reach = min(max_length, length)
    first, last = (scores.masked_fill(~answer_mask, -math.inf) for scores in (start, end))
    # Row i of the windows holds the ends i, i + 1, ... that a span from i may have.
    windows = pad(last, (0, reach - 1), value=-math.inf).unfold(1, reach, 1)  # [S, P, reach]
    scores = (first.unsqueeze(-1) + windows).flatten(1)
    missing = max(0, n_best - scores.shape[1])
    # A stable sort keeps equal spans in the order of their starts, then of their lengths.
    score, index = pad(scores, (0, missing), value=-math.inf).sort(dim=-1, descending=True, stable=True)
    score, index = score[:, :n_best], index[:, :n_best]
    begin = index // reach
    exists = score > -math.inf
    return Spans(
        start=torch.where(exists, begin, 0),
        end=torch.where(exists, begin + index % reach, 0),
        score=score,
        null_score=start[:, 0] + end[:, 0],
    )


PART = SpanHead
