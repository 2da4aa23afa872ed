"""Chooses the missing word by its own output embedding."""

import math
from collections.abc import Set

import torch
from torch import nn
from torch.nn.functional import cross_entropy

from coattend.readers.batch import Batch
from coattend.readers.heads.configs import VocabularyConfig
from coattend.readers.interfaces import Attended, EncoderShape, require
from coattend.readers.layers.masked import full_precision
from coattend.readers.reader import ReaderOutput


class VocabularyHead(nn.Module):
    """p(a | d, q) = softmax over the candidates of W(a) . g(d, q) (Attentive Reader, section 2; Stanford Reader).

    g is the interaction's summary and W(a) the output embedding of candidate a; for a candidate of several tokens it
    is their mean. With anonymised names, candidates are the passage's entities. A candidate that the passage, as far
    as it is read, does not contain has the embedding of an unknown word. Answers differ only by what training taught
    about their names: the papers use it for anonymised entities; otherwise a word that was never an answer is a guess.
    """

    Config = VocabularyConfig

    def __init__(self, config: VocabularyConfig, shape: EncoderShape, provided: Set[str]) -> None:
        super().__init__()
        self.answers = nn.Embedding(shape.vocabulary, shape.hidden_size)
        nn.init.normal_(self.answers.weight, std=0.02)
        self.dropout = nn.Dropout(config.summary_dropout)

    def forward(self, attended: Attended, batch: Batch) -> ReaderOutput:
        """Score candidates [B, C] of K tokens by the summary [S, H], with B = S."""
        ids = require(batch.candidate_ids, "batch.candidate_ids")
        missing = require(batch.candidates, "batch.candidates") == -2  # [B, C]
        summary = require(attended.summary, "attended.summary")
        # Candidates have different numbers of tokens.
        real = ids >= 0  # [B, C, K]
        with full_precision(self.answers.weight):
            # W(a): the mean over a candidate's tokens.
            tokens = self.answers(ids.clamp_min(0)) * real.unsqueeze(-1)  # [B, C, K, H]
            answers = tokens.sum(2) / real.sum(2, keepdim=True).clamp_min(1)
            summary = self.dropout(summary.to(answers.dtype))
            scores = torch.einsum("bch,bh->bc", answers, summary).masked_fill(missing, -math.inf)
            loss = None if batch.label is None else cross_entropy(scores, batch.label)
        return ReaderOutput(attended=attended, scores=scores, loss=loss)


PART = VocabularyHead
