"""K-best MIRA: weights that give the right one of a few candidates the best score.

Source: Cherry and Foster 2012, "Batch Tuning Strategies for Statistical Machine Translation". In place of BLEU the
right candidate gains 1 and a wrong one 0.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from coattend.config import RerankingParameters
from coattend.errors import CoattendError
from coattend.evaluation.groups import EVERYTHING
from coattend.evaluation.reranking.rankings import Ranking
from coattend.text.hashing import text_id

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
    # Questions without a right candidate, or without a wrong one, have no differences to learn from.
    instructive = [
        differences for differences in (question.differences() for question in questions) if len(differences)
    ]
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
    # The passive-aggressive step: the loss over the squared length just closes the gap to the margin.
    loss, length = MARGIN - leads[fear], float(differences[fear] @ differences[fear])
    if loss <= 0 or not length:
        return np.zeros_like(weights)
    step: np.ndarray = min(aggressiveness, loss / length) * differences[fear]
    return step


TUNING_SPLIT = "dev"


@dataclass(frozen=True)
class Tuned:
    """Weights and where they come from.

    Attributes:
        trial_id: The trial whose answers they rank.
        seed: Its seed.
        subset: The subset whose questions they are for; ``all`` where a benchmark has none.
        tuned_on: The questions that they were tuned on: dev, or a half of it.
        applied_to: The questions that are answered with them.
        questions: How many questions they were tuned on.
        weights: One for each feature [features].
    """

    trial_id: str
    seed: int
    subset: str
    tuned_on: str
    applied_to: str
    questions: int
    weights: np.ndarray


def tuning_part(split: str) -> str:
    """Name the questions that the weights for a split are tuned on; halves of dev share no passage."""
    return f"the other half of {TUNING_SPLIT}" if split == TUNING_SPLIT else TUNING_SPLIT


def tuned_apart(rankings: Sequence[Ranking], parameters: RerankingParameters) -> Iterator[tuple[Tuned, list[Ranking]]]:
    """Tune each trial's weights, on each subset apart: the source takes subsets as benchmarks of their own.

    Args:
        rankings: All trials' rankings.
        parameters: Epochs and aggressiveness.

    Yields:
        Weights, and the rankings that they are for. Each ranking comes once, with weights that were tuned on questions
        about other passages.

    Raises:
        CoattendError: If a subset, or a half of it, has no dev question with a known answer.
    """
    groups: dict[tuple[str, str], list[Ranking]] = {}
    for ranking in rankings:
        key = (ranking.prediction["trial_id"], ranking.question["subset"] or EVERYTHING)
        groups.setdefault(key, []).append(ranking)
    for (trial_id, subset), group in groups.items():
        # Each half of dev is answered with the weights of the other half.
        for tuned_on, applied_to, learned, answered in _parts(group):
            if not learned:
                raise _nothing_to_tune_on(tuned_on, subset)
            weights = _weights(learned, parameters)
            seed = answered[0].prediction["seed"]
            yield Tuned(trial_id, seed, subset, tuned_on, applied_to, len(learned), weights), answered


def _parts(group: Sequence[Ranking]) -> Iterator[tuple[str, str, list[Ranking], list[Ranking]]]:
    """Yield the part to tune on and the part to answer: names, then rankings."""
    dev = [ranking for ranking in group if ranking.question["split"] == TUNING_SPLIT]
    others = [ranking for ranking in group if ranking.question["split"] != TUNING_SPLIT]
    first, second = _halves(dev)
    names = [f"{TUNING_SPLIT}, half {number}" for number in (1, 2)]
    if first:
        yield names[1], names[0], _labelled(second), first
    if second:
        yield names[0], names[1], _labelled(first), second
    if others:
        splits = sorted({ranking.question["split"] for ranking in others})
        yield TUNING_SPLIT, ", ".join(splits), _labelled(dev), others


def _halves(rankings: Sequence[Ranking]) -> tuple[list[Ranking], list[Ranking]]:
    """Every other passage in the order of their hashes, which has nothing to do with what they are about."""
    passages = sorted({ranking.question["passage_id"] for ranking in rankings}, key=text_id)
    first = set(passages[::2])
    return (
        [ranking for ranking in rankings if ranking.question["passage_id"] in first],
        [ranking for ranking in rankings if ranking.question["passage_id"] not in first],
    )


def _labelled(rankings: Sequence[Ranking]) -> list[Ranking]:
    return [ranking for ranking in rankings if ranking.question["label"] is not None]


def _weights(learned: Sequence[Ranking], parameters: RerankingParameters) -> np.ndarray:
    # The first feature is the reader's own score: without tuning its order stays.
    start = np.eye(learned[0].features.shape[1])[0]
    lists = [NBest(ranking.features, ranking.right) for ranking in learned]
    return tune(lists, start, epochs=parameters.epochs, aggressiveness=parameters.aggressiveness)


def _nothing_to_tune_on(part: str, subset: str) -> CoattendError:
    return CoattendError(
        "there is no question with a known answer to tune weights on",
        where=f"{part}, subset {subset}",
        cure="It takes dev questions about two passages at least",
    )
