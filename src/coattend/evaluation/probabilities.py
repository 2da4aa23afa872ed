"""Scores of options and candidates as probabilities, by the head that gave them."""

import numpy as np
from numpy.typing import ArrayLike

MASSES = frozenset({"word"})
"""Heads whose scores are masses of probability, the rest of which other words have; others give logits."""

_TINY = float(np.finfo(np.float32).tiny)


def probabilities(scores: ArrayLike, head: str) -> np.ndarray:
    """The probability of each of a question's options or candidates, among these alone [N].

    Args:
        scores: What a trial gave them [N].
        head: What gave the scores: masses are divided by their sum, of logits the softmax is taken.
    """
    shares: np.ndarray = np.exp(log_probabilities(scores, head))
    return shares


def log_probabilities(scores: ArrayLike, head: str, *, least: float = _TINY) -> np.ndarray:
    """The logarithms of `probabilities` [N].

    Args:
        scores: What a trial gave them [N].
        head: What gave the scores.
        least: What a mass is taken to be at least; 0 has no logarithm.
    """
    given = np.asarray(scores, dtype=float)
    logits = np.log(np.maximum(given, least)) if head in MASSES else given
    logarithms: np.ndarray = logits - np.logaddexp.reduce(logits)
    return logarithms
