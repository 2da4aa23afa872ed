"""Finds the missing word in the passage: the probability of a word is the sum over its occurrences."""

import math
from collections.abc import Set

import torch
from torch import Tensor, nn

from coattend.readers.batch import Batch
from coattend.readers.heads.configs import WordConfig
from coattend.readers.interfaces import Attended, EncoderShape, require
from coattend.readers.layers.initializers import linear
from coattend.readers.layers.masked import at_least_float32, full_precision, masked_softmax
from coattend.readers.reader import ReaderOutput


class WordHead(nn.Module):
    """Pointer sum attention: P(w | D, Q) = sum over i in I(w, D) of s_i (AS Reader, equation 2; AoA Reader, 11 and 12).

    s is the interaction's token mass. If the interaction provides none, a linear layer without bias and a softmax over
    the passage compute it from the passage's vectors. A word of several tokens has the sum of their masses. Questions
    whose answer the passage does not contain take no part in the loss.
    """

    Config = WordConfig

    def __init__(self, config: WordConfig, shape: EncoderShape, provided: Set[str]) -> None:
        super().__init__()
        self.scorer = None if "token_mass" in provided else linear(shape.hidden_size, 1, bias=False)
        self.choose, self.normalise = config.choose, config.normalise

    def forward(self, attended: Attended, batch: Batch) -> ReaderOutput:
        """Sum the token mass over each word's occurrences [B, P], and each candidate's [B, C], with B = S."""
        groups = require(batch.word_groups, "batch.word_groups")
        candidates = require(batch.candidates, "batch.candidates")
        token_mass = self._token_mass(attended, groups >= 0)
        word_mass = torch.zeros_like(token_mass).scatter_add(1, groups.clamp_min(0), token_mass)  # [B, P]
        candidate_mass = word_mass.gather(1, candidates.clamp_min(0)).masked_fill(candidates < 0, 0.0)
        loss = None if batch.label is None else self._loss(candidate_mass, candidates, batch.label)
        scores = candidate_mass.masked_fill(candidates == -2, -math.inf)
        return ReaderOutput(
            attended=attended, word_mass=word_mass, scores=scores if self.choose == "candidates" else None, loss=loss
        )

    def _token_mass(self, attended: Attended, real: Tensor) -> Tensor:
        """Return the probability of each passage token of a word, which is real [S, P]; zero at other tokens."""
        if self.scorer is None:
            return at_least_float32(require(attended.token_mass, "attended.token_mass")).masked_fill(~real, 0.0)
        passage = require(attended.passage, "attended.passage")
        with full_precision(self.scorer.weight):
            scores: Tensor = self.scorer(passage.to(self.scorer.weight.dtype)).squeeze(-1)
            return masked_softmax(scores, real).masked_fill(~real, 0.0)

    def _loss(self, candidate_mass: Tensor, candidates: Tensor, label: Tensor) -> Tensor:
        gold = label.unsqueeze(1)
        mass = candidate_mass.gather(1, gold).squeeze(1)
        if self.normalise == "candidates":
            # A word that is listed twice counts once.
            total = _without_duplicates(candidate_mass, candidates).sum(1)
            mass = mass / total.clamp_min(torch.finfo(mass.dtype).tiny)
        # Only questions whose passage contains the gold word have a loss.
        in_passage = candidates.gather(1, gold).squeeze(1) >= 0
        losses = -mass.clamp_min(torch.finfo(mass.dtype).tiny).log()
        return (losses * in_passage).sum() / in_passage.sum().clamp_min(1)


def _without_duplicates(masses: Tensor, candidates: Tensor) -> Tensor:
    """Zero the masses [B, C] of candidates that occur earlier in the list."""
    same = candidates.unsqueeze(2) == candidates.unsqueeze(1)  # [B, C, C]
    return masses.masked_fill(same.tril(-1).any(2), 0.0)


PART = WordHead
