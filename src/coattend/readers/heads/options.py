"""Scores the options of a question."""

import math
from collections.abc import Set
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from coattend.readers.batch import Batch
from coattend.readers.heads.configs import OptionsConfig
from coattend.readers.interfaces import STREAMS, Attended, EncoderShape, require
from coattend.readers.layers.initializers import linear
from coattend.readers.layers.masked import full_precision, masked_last, masked_max, masked_mean
from coattend.readers.reader import ReaderOutput


class OptionsHead(nn.Module):
    """Pooling, fusion, dropout, one linear layer; the softmax over a question's options gives the loss.

    O_i is the fused vector and W the linear layer of DUMA, section 4.3; ``joint`` with ``max`` is the output layer of
    POI-Net, section 2.4.1. The layer has no bias: it would add the same to every option.
    """

    Config = OptionsConfig

    def __init__(self, config: OptionsConfig, shape: EncoderShape, provided: Set[str]) -> None:
        super().__init__()
        self.streams = sorted(config.needs(provided) & STREAMS)
        self.fuse = config.fuse
        self.pool = {"mean": masked_mean, "max": masked_max, "last": masked_last}.get(config.pooling)
        self.dropout = nn.Dropout(config.head_dropout)
        pooled = len(self.streams) if self.streams and config.fuse == "concatenate" else 1
        width = pooled * shape.hidden_size
        self.before = nn.Sequential(linear(width, width), nn.ReLU()) if config.scorer_layers == 2 else nn.Identity()
        self.scorer = linear(width, 1, bias=False)

    def forward(self, attended: Attended, batch: Batch) -> ReaderOutput:
        """Score options [B, C] by streams [S, P, H] and [S, Q, H], or by a summary [S, H]."""
        index = require(batch.option_index, "batch.option_index")
        with full_precision(self.scorer.weight):
            sequence_scores = self.scorer(self.before(self.dropout(self._fused(attended)))).squeeze(-1)  # [S]
            # From sequences to questions: questions with fewer options than others are padded.
            scores = sequence_scores[index.clamp_min(0)].masked_fill(index < 0, -math.inf)
            loss = None if batch.label is None else cross_entropy(scores, batch.label)
        return ReaderOutput(attended=attended, scores=scores, loss=loss)

    def _fused(self, attended: Attended) -> Tensor:
        """Pool and fuse the streams to the vector O of each sequence, [S, H] or, concatenated, [S, 2H]."""
        if self.pool is None:
            return require(attended.summary, "attended.summary").to(self.scorer.weight.dtype)
        # A single stream has nothing to fuse with; `joint` pools both as one.
        streams = [getattr(attended, name).to(self.scorer.weight.dtype) for name in self.streams]
        masks = [getattr(attended, f"{name}_mask") for name in self.streams]
        if self.fuse == "joint":
            return self.pool(streams, masks)
        pooled = [self.pool([stream], [mask]) for stream, mask in zip(streams, masks, strict=True)]
        return fuse(pooled, self.fuse)


def fuse(pooled: list[Tensor], operation: str) -> Tensor:
    """Concatenate, sum or multiply one or two pooled streams [S, H] (Fuse of DUMA, equation 1)."""
    if operation == "concatenate":
        return torch.cat(pooled, -1)
    return cast(Tensor, sum(pooled) if operation == "sum" else math.prod(pooled))


PART = OptionsHead
