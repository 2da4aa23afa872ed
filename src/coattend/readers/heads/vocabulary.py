"""Chooses the missing word by its own output embedding."""

import math
from collections.abc import Set

import torch
from pydantic import Field
from torch import nn
from torch.nn.functional import cross_entropy

from coattend.readers.attended import Attended
from coattend.readers.batch import Batch
from coattend.readers.needed import needed
from coattend.readers.parts import EncoderShape, HeadConfig
from coattend.readers.precision import full_precision
from coattend.readers.reader import ReaderOutput

TASK = "word"


class VocabularyHead(nn.Module):
    """p(a | d, q) = softmax over the candidates of W(a) . g(d, q) (Attentive Reader, section 2; Stanford Reader).

    g is the interaction's summary and W(a) the output embedding of candidate a; that of a candidate of several tokens
    is their mean. Where names are anonymised, candidates are the passage's entities. One that the passage, as far as it
    is read, does not hold has the embedding of an unknown word. An answer is told from another only by what training
    taught about its name: for anonymised entities that is how the papers use it, for others a word that was never an
    answer is a guess.

    Args:
        config: Its options.
        shape: The encoder's, with the width of what the interaction hands on.
        given: Fields of `Attended` that the interaction fills.
    """

    class Config(HeadConfig):
        """Options of the vocabulary head."""

        summary_dropout: float = Field(0.0, ge=0, lt=1, description="Dropout of the summary.")

        def needs(self, given: Set[str]) -> frozenset[str]:
            """The summary."""
            return frozenset({"summary"})

    def __init__(self, config: Config, shape: EncoderShape, given: Set[str]) -> None:
        super().__init__()
        self.answers = nn.Embedding(shape.vocabulary, shape.hidden_size)
        nn.init.normal_(self.answers.weight, std=0.02)
        self.dropout = nn.Dropout(config.summary_dropout)

    def forward(self, attended: Attended, batch: Batch) -> ReaderOutput:
        """Score the candidates.

        Args:
            attended: Summary [S, H].
            batch: The tokens of candidates, [B, C, K], and the right ones, [B], with B = S.

        Returns:
            Scores [B, C], and the cross entropy if the batch has labels.
        """
        ids = needed(batch.candidate_ids, "batch.candidate_ids")
        missing = needed(batch.candidates, "batch.candidates") == -2  # [B, C]
        summary = needed(attended.summary, "attended.summary")
        real = ids >= 0  # [B, C, K]
        with full_precision(self.answers.weight):
            pieces = self.answers(ids.clamp_min(0)) * real.unsqueeze(-1)  # [B, C, K, H]
            answers = pieces.sum(2) / real.sum(2, keepdim=True).clamp_min(1)
            summary = self.dropout(summary.to(answers.dtype))
            scores = torch.einsum("bch,bh->bc", answers, summary).masked_fill(missing, -math.inf)
            loss = None if batch.label is None else cross_entropy(scores, batch.label)
        return ReaderOutput(attended=attended, scores=scores, loss=loss)


PART = VocabularyHead
