"""Finds the missing word in the passage: the probability of a word is the sum over its occurrences."""

import math
from collections.abc import Set
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from coattend.readers.attended import Attended
from coattend.readers.batch import Batch
from coattend.readers.linear import linear
from coattend.readers.needed import needed
from coattend.readers.parts import EncoderShape, HeadConfig
from coattend.readers.precision import at_least_float32, full_precision
from coattend.readers.reader import ReaderOutput

TASK = "word"


class WordHead(nn.Module):
    """Pointer sum attention: P(w | D, Q) = sum over i in I(w, D) of s_i (AS Reader, equation 2; AoA Reader, 11 and 12).

    s is the interaction's token mass. Where it fills none, a linear layer without bias and a softmax over the passage
    make it of the passage's vectors. A word that is several tokens has the mass of them all. Questions whose answer the
    passage does not hold have no part in the loss.

    Args:
        config: Its options.
        shape: The encoder's, with the width of what the interaction hands on.
        given: Fields of `Attended` that the interaction fills.
    """

    class Config(HeadConfig):
        """Options of the word head."""

        choose: Literal["candidates", "document"] = Field(
            "candidates", description="What is chosen from: the candidates, or all words of the passage."
        )
        normalise: Literal["document", "candidates"] = Field(
            "document", description="Over which words probabilities sum to one in the loss; GA: candidates."
        )

        def needs(self, given: Set[str]) -> frozenset[str]:
            """The token mass, or else the passage."""
            return frozenset({"token_mass"} if "token_mass" in given else {"passage"})

    def __init__(self, config: Config, shape: EncoderShape, given: Set[str]) -> None:
        super().__init__()
        self.scorer = None if "token_mass" in given else linear(shape.hidden_size, 1, bias=False)
        self.choose, self.normalise = config.choose, config.normalise

    def forward(self, attended: Attended, batch: Batch) -> ReaderOutput:
        """Sum over occurrences.

        Args:
            attended: Token mass [S, P], or passage [S, P, H].
            batch: The word of each token, [S, P], and the candidates, [B, C], with B = S.

        Returns:
            The mass of each distinct word of the passage [B, P]; the candidates' as scores [B, C], if they are chosen
            from; the loss if the batch has labels.
        """
        groups = needed(batch.word_groups, "batch.word_groups")
        candidates = needed(batch.candidates, "batch.candidates")
        mass = self._mass(attended, groups >= 0)
        words = torch.zeros_like(mass).scatter_add(1, groups.clamp_min(0), mass)  # [B, P]
        of_candidates = words.gather(1, candidates.clamp_min(0)).masked_fill(candidates < 0, 0.0)
        loss = None if batch.label is None else self._loss(of_candidates, candidates, batch.label)
        scores = of_candidates.masked_fill(candidates == -2, -math.inf)
        return ReaderOutput(
            attended=attended, word_mass=words, scores=scores if self.choose == "candidates" else None, loss=loss
        )

    def _mass(self, attended: Attended, real: Tensor) -> Tensor:
        """Probability of each passage token that is of a word, which is real [S, P]; zero elsewhere."""
        if self.scorer is None:
            return at_least_float32(needed(attended.token_mass, "attended.token_mass")).masked_fill(~real, 0.0)
        passage = needed(attended.passage, "attended.passage")
        with full_precision(self.scorer.weight):
            scores: Tensor = self.scorer(passage.to(self.scorer.weight.dtype)).squeeze(-1)
            return scores.masked_fill(~real, -math.inf).softmax(-1).masked_fill(~real, 0.0)

    def _loss(self, of_candidates: Tensor, candidates: Tensor, label: Tensor) -> Tensor:
        right = label.unsqueeze(1)
        mass = of_candidates.gather(1, right).squeeze(1)
        if self.normalise == "candidates":
            # A word that is listed twice counts once.
            mass = mass / _once(of_candidates, candidates).sum(1).clamp_min(torch.finfo(mass.dtype).tiny)
        held = candidates.gather(1, right).squeeze(1) >= 0
        losses = -mass.clamp_min(torch.finfo(mass.dtype).tiny).log()
        return (losses * held).sum() / held.sum().clamp_min(1)


def _once(masses: Tensor, candidates: Tensor) -> Tensor:
    """Masses of candidates [B, C], zero for those that stand in the list before."""
    same = candidates.unsqueeze(2) == candidates.unsqueeze(1)  # [B, C, C]
    return masses.masked_fill(same.tril(-1).any(2), 0.0)


PART = WordHead
