"""Pair-wise matching of passage and question tokens, and softmaxes over either side."""

import torch
from torch import Tensor

from coattend.readers.interfaces import Encoded
from coattend.readers.layers.precision import at_least_float32, full_precision


def matching(encoded: Encoded) -> Tensor:
    """Compute M(i, j) = h_doc(i) . h_query(j) (AoA Reader, equation 5), [S, P, Q], in float32 at least.

    Args:
        encoded: Passage [S, P, H] and question [S, Q, H].
    """
    with full_precision(encoded.passage):
        return at_least_float32(encoded.passage) @ at_least_float32(encoded.question).transpose(1, 2)


def over_passage(scores: Tensor, encoded: Encoded) -> Tensor:
    """Take the softmax over the passage's real tokens, for each question token: [S, P, Q] to [S, P, Q]."""
    return scores.masked_fill(~encoded.passage_mask.unsqueeze(2), -torch.inf).softmax(1)


def over_question(scores: Tensor, encoded: Encoded) -> Tensor:
    """Take the softmax over the question's real tokens, for each passage token: [S, P, Q] to [S, P, Q]."""
    return scores.masked_fill(~encoded.question_mask.unsqueeze(1), -torch.inf).softmax(2)


def pointer_softmax(passage: Tensor, query: Tensor, mask: Tensor) -> Tensor:
    """Take the softmax over the passage's real tokens of their products with one vector, in float32 at least.

    Args:
        passage: [S, P, H].
        query: [S, H].
        mask: True at real tokens [S, P].

    Returns:
        The token mass [S, P].
    """
    with full_precision(passage):
        scores = (at_least_float32(passage) @ at_least_float32(query).unsqueeze(-1)).squeeze(-1)
        return scores.masked_fill(~mask, -torch.inf).softmax(-1)


def weighted_by_mass(stream: Tensor, mass: Tensor, mask: Tensor) -> Tensor:
    """Multiply vectors by their probability and the number of real tokens, so that their mean is their expectation.

    Args:
        stream: [S, L, H].
        mass: [S, L], zero at padding.
        mask: True at real tokens [S, L].
    """
    return stream * (mass * mask.sum(1, keepdim=True)).unsqueeze(-1)
