"""Scores the options of a question."""

import math
from collections.abc import Set
from typing import Literal, cast

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from coattend.readers.attended import Attended
from coattend.readers.batch import Batch
from coattend.readers.linear import linear
from coattend.readers.needed import needed
from coattend.readers.parts import STREAMS, EncoderShape, HeadConfig
from coattend.readers.pooling import masked_max, masked_mean
from coattend.readers.precision import full_precision
from coattend.readers.reader import ReaderOutput

TASK = "options"


class OptionsHead(nn.Module):
    """Pooling, fusion, dropout, one linear layer; the softmax over a question's options gives the loss.

    O_i is the fused vector and W the linear layer of DUMA, section 4.3; ``joint`` with ``max`` is the output layer of
    POI-Net, section 2.4.1. The layer has no bias: it would add the same to every option.

    Args:
        config: Its options.
        shape: The encoder's, with the width of what the interaction hands on.
        given: Fields of `Attended` that the interaction fills. Where that is one stream alone, it is pooled alone.
    """

    class Config(HeadConfig):
        """Options of the options head."""

        pooling: Literal["cls_pooler", "summary", "mean", "max"] = Field(
            "mean",
            description="cls_pooler: the encoder's summary; summary: the interaction's; mean, max: over real tokens.",
        )
        fuse: Literal["joint", "concatenate", "sum", "multiply"] = Field(
            "joint", description="joint: one pooling over both streams; else how two pooled streams become one."
        )
        scorer_layers: Literal[1, 2] = Field(
            1,
            description="2: a layer of the fused width and a ReLU come first (the ReCAM DUMA's other way).",
        )
        head_dropout: float = Field(0.0, ge=0, lt=1, description="Dropout of the fused vector.")

        def needs(self, given: Set[str]) -> frozenset[str]:
            """The summary, or whatever streams there are."""
            if self.pooling in ("cls_pooler", "summary"):
                return frozenset({"summary"})
            return (STREAMS & given) or STREAMS

    def __init__(self, config: Config, shape: EncoderShape, given: Set[str]) -> None:
        super().__init__()
        self.streams = sorted(config.needs(given) & STREAMS)
        self.fuse = config.fuse
        self.pool = {"mean": masked_mean, "max": masked_max}.get(config.pooling)
        self.dropout = nn.Dropout(config.head_dropout)
        pooled = len(self.streams) if self.streams and config.fuse == "concatenate" else 1
        width = pooled * shape.hidden_size
        self.before = nn.Sequential(linear(width, width), nn.ReLU()) if config.scorer_layers == 2 else nn.Identity()
        self.scorer = linear(width, 1, bias=False)

    def forward(self, attended: Attended, batch: Batch) -> ReaderOutput:
        """Score options.

        Args:
            attended: Streams [S, P, H] and [S, Q, H], or summary [S, H].
            batch: Which sequence is which option, [B, C], and the right ones, [B].

        Returns:
            Scores [B, C], and the cross entropy if the batch has labels.
        """
        place = needed(batch.option_index, "batch.option_index")
        with full_precision(self.scorer.weight):
            of_sequences = self.scorer(self.before(self.dropout(self._fused(attended)))).squeeze(-1)  # [S]
            scores = of_sequences[place.clamp_min(0)].masked_fill(place < 0, -math.inf)
            loss = None if batch.label is None else cross_entropy(scores, batch.label)
        return ReaderOutput(attended=attended, scores=scores, loss=loss)

    def _fused(self, attended: Attended) -> Tensor:
        """The vector O of each sequence, [S, H] or, concatenated, [S, 2H]."""
        if self.pool is None:
            return needed(attended.summary, "attended.summary").to(self.scorer.weight.dtype)
        streams = [getattr(attended, name).to(self.scorer.weight.dtype) for name in self.streams]
        masks = [getattr(attended, f"{name}_mask") for name in self.streams]
        if self.fuse == "joint":
            return self.pool(streams, masks)
        pooled = [self.pool([stream], [mask]) for stream, mask in zip(streams, masks, strict=True)]
        return fuse(pooled, self.fuse)


def fuse(pooled: list[Tensor], how: str) -> Tensor:
    """Fuse of DUMA, equation 1, after the pooling.

    Args:
        pooled: One or two vectors [S, H].
        how: ``concatenate``, ``sum`` or ``multiply``.

    Returns:
        [S, H], or [S, 2H] for two that are concatenated.
    """
    if how == "concatenate":
        return torch.cat(pooled, -1)
    return cast(Tensor, sum(pooled) if how == "sum" else math.prod(pooled))


PART = OptionsHead
