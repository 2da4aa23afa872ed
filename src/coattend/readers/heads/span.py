"""Finds the span of the passage that answers a question, or that there is none."""

import math
from collections.abc import Set
from dataclasses import dataclass
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, pad

from coattend.readers.attended import Attended
from coattend.readers.batch import Batch
from coattend.readers.linear import linear
from coattend.readers.needed import needed
from coattend.readers.parts import EncoderShape, HeadConfig
from coattend.readers.precision import full_precision
from coattend.readers.reader import ReaderOutput

TASK = "span"


class SpanHead(nn.Module):
    """One linear layer gives each token of the passage domain a score as start and as end (POI-Net, section 2.4.2).

    CLS, position 0, stands for "no answer". The layer has no bias: it would add the same to every token.

    Args:
        config: Its options.
        shape: The encoder's, with the width of what the interaction hands on.
        given: Fields of `Attended` that the interaction fills.
    """

    class Config(HeadConfig):
        """Options of the span head."""

        loss: Literal["sum", "mean"] = Field(
            "sum", description="sum: of both cross entropies, as the paper has it; mean: half of it, as Hugging Face."
        )
        score: Literal["logits", "softmax"] = Field(
            "logits", description="What spans are scored by: logits, or, as the paper has it, their softmax."
        )

        def needs(self, given: Set[str]) -> frozenset[str]:
            """The passage."""
            return frozenset({"passage"})

    def __init__(self, config: Config, shape: EncoderShape, given: Set[str]) -> None:
        super().__init__()
        self.scorer = linear(shape.hidden_size, 2, bias=False)
        self.share, self.softmax = {"sum": 1.0, "mean": 0.5}[config.loss], config.score == "softmax"

    def forward(self, attended: Attended, batch: Batch) -> ReaderOutput:
        """Score starts and ends.

        Args:
            attended: Passage [S, P, H].
            batch: Where an answer may lie, [S, P], and where it lies, [S].

        Returns:
            Start and end [S, P], -inf where no answer may lie, and the loss if the batch has answers.
        """
        passage = needed(attended.passage, "attended.passage")
        allowed = needed(batch.answer_mask, "batch.answer_mask").clone()
        allowed[:, 0] = True
        with full_precision(self.scorer.weight):
            logits = self.scorer(passage.to(self.scorer.weight.dtype))  # [S, P, 2]
            start, end = logits.masked_fill(~allowed.unsqueeze(-1), -math.inf).unbind(-1)
            loss = None
            if batch.start is not None and batch.end is not None:
                loss = self.share * (cross_entropy(start, batch.start) + cross_entropy(end, batch.end))
            if self.softmax:
                start, end = (one.softmax(-1).masked_fill(~allowed, -math.inf) for one in (start, end))
        return ReaderOutput(attended=attended, start=start, end=end, loss=loss)


@dataclass(frozen=True)
class Spans:
    """The best spans of each sequence, best first.

    Attributes:
        start: First token [S, K], counted in P; 0 where there is no further span.
        end: Last token [S, K]; 0 where there is no further span.
        score: Start's score + end's score [S, K]; -inf where there is no further span.
        null_score: The same of "no answer" [S].
    """

    start: Tensor
    end: Tensor
    score: Tensor
    null_score: Tensor


def best_spans(start: Tensor, end: Tensor, answer_mask: Tensor, *, max_length: int, n_best: int = 1) -> Spans:
    """The spans with the highest s_i + e_j, 0 <= j - i < max_length (POI-Net, section 2.4.2).

    Args:
        start: Score of each token as the first, [S, P].
        end: Score of each token as the last, [S, P].
        answer_mask: True at tokens that a span may begin and end with, [S, P].
        max_length: Longest span in tokens.
        n_best: How many spans to give, K. Of equal spans the one that begins first, then the shorter, comes first.

    Returns:
        The spans, and s_0 + e_0 as the score of "no answer".
    """
    length = start.shape[1]
    reach = min(max_length, length)
    first, last = (one.masked_fill(~answer_mask, -math.inf) for one in (start, end))
    # Row i of the windows holds the ends i, i + 1, ... that a span from i may have.
    windows = pad(last, (0, reach - 1), value=-math.inf).unfold(1, reach, 1)  # [S, P, reach]
    scores = (first.unsqueeze(-1) + windows).flatten(1)
    missing = max(0, n_best - scores.shape[1])
    score, place = pad(scores, (0, missing), value=-math.inf).sort(dim=-1, descending=True, stable=True)
    score, place = score[:, :n_best], place[:, :n_best]
    begin = place // reach
    found = score > -math.inf
    return Spans(
        start=torch.where(found, begin, 0),
        end=torch.where(found, begin + place % reach, 0),
        score=score,
        null_score=start[:, 0] + end[:, 0],
    )


PART = SpanHead
