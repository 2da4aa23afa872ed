"""K-best MIRA: weights that give the right one of a few candidates the best score.

Source: Cherry and Foster 2012, "Batch Tuning Strategies for Statistical Machine Translation". In place of BLEU the
right candidate gains 1 and a wrong one 0.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

MARGIN = 1.0
"""By so much the right candidate shall score better: what it gains more than a wrong one."""


@dataclass(frozen=True)
class NBest:
    """A question's best candidates.

    Attributes:
        features: What is known of each [candidates, features].
        right: Which of them is right; None where none is.
    """

    features: np.ndarray
    right: int | None

    def differences(self) -> np.ndarray:
        """The features of the right candidate less those of each wrong one; no row without a right one."""
        if self.right is None:
            return self.features[:0]
        differences: np.ndarray = self.features[self.right] - np.delete(self.features, self.right, axis=0)
        return differences


def tune(
    questions: Sequence[NBest], start: np.ndarray, *, epochs: int, aggressiveness: float, seed: int = 0
) -> np.ndarray:
    """Go through questions one by one, in a new order each time.

    The hope is the right candidate, the fear the wrong one with the best score. Where the hope is not better by the
    margin, the weights take the smallest step after which it is, or as much of it as the aggressiveness allows.

    Args:
        questions: Questions with their best candidates. Those without hope or fear teach nothing.
        start: The weights to begin with [features].
        epochs: How often to go through them.
        aggressiveness: Largest multiple of the features' difference that a step adds; C in the paper.
        seed: Of the orders.

    Returns:
        The weights' mean over all questions of all passes, which is steadier than the last ones [features].
    """
    instructive = [each for each in (question.differences() for question in questions) if len(each)]
    if not instructive:
        return start
    random = np.random.default_rng(seed)
    weights, total = start.astype(float), np.zeros(len(start))
    for _ in range(epochs):
        for number in random.permutation(len(instructive)):
            weights = weights + _step(instructive[number], weights, aggressiveness)
            total += weights
    return total / (epochs * len(instructive))


def _step(differences: np.ndarray, weights: np.ndarray, aggressiveness: float) -> np.ndarray:
    leads = differences @ weights
    fear = int(np.argmin(leads))
    loss, length = MARGIN - leads[fear], float(differences[fear] @ differences[fear])
    if loss <= 0 or not length:
        return np.zeros_like(weights)
    step: np.ndarray = min(aggressiveness, loss / length) * differences[fear]
    return step
