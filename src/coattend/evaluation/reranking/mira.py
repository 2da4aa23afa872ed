"""K-best MIRA: weights that give the right one of a few candidates the best score.

Source: Cherry and Foster 2012, "Batch Tuning Strategies for Statistical Machine Translation". In place of BLEU the
right candidate gains 1 and a wrong one 0.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from coattend.config import RerankingParameters
from coattend.errors import CoattendError
from coattend.evaluation.groups import EVERYTHING
from coattend.evaluation.reranking.rankings import FEATURES, Ranking
from coattend.evaluation.reranking.records import RerankingWeights
from coattend.text.hashing import text_id

MARGIN = 1.0
"""By so much the right candidate shall score better: what it gains more than a wrong one."""


def differences(features: np.ndarray, right: int | None) -> np.ndarray:
    """The right candidate's features less each wrong one's [wrong candidates, features]; no row without a right one."""
    if right is None:
        return features[:0]
    by_wrong: np.ndarray = features[right] - np.delete(features, right, axis=0)
    return by_wrong


def tune(
    questions: Sequence[np.ndarray], start: np.ndarray, *, epochs: int, aggressiveness: float, seed: int = 0
) -> np.ndarray:
    """Go through questions one by one, in a new order each time.

    The hope is the right candidate, the fear the wrong one with the best score. Where the hope is not better by the
    margin, the weights take the smallest step after which it is, or as much of it as the aggressiveness allows.

    Args:
        questions: The `differences` of each question; those without teach nothing.
        start: The weights to begin with [features].
        epochs: How often to go through them.
        aggressiveness: Largest multiple of the features' difference that a step adds; C in the paper.
        seed: Of the orders.

    Returns:
        The weights' mean over all questions of all passes, which is steadier than the last ones [features].
    """
    instructive = [question for question in questions if len(question)]
    if not instructive:
        return start
    random = np.random.default_rng(seed)
    weights, total = start.astype(float), np.zeros(len(start))
    for _ in range(epochs):
        for number in random.permutation(len(instructive)):
            weights = weights + _step(instructive[number], weights, aggressiveness)
            total += weights
    return total / (epochs * len(instructive))


def _step(question: np.ndarray, weights: np.ndarray, aggressiveness: float) -> np.ndarray:
    leads = question @ weights
    fear = question[int(np.argmin(leads))]
    # The passive-aggressive step: the loss over the squared length just closes the gap to the margin.
    loss, length = MARGIN - leads.min(), float(fear @ fear)
    if loss <= 0 or not length:
        return np.zeros_like(weights)
    step: np.ndarray = min(aggressiveness, loss / length) * fear
    return step


TUNING_SPLIT = "dev"


class Tuned(NamedTuple):
    """Weights [features], what they come from, and the rankings that they are for."""

    record: RerankingWeights
    weights: np.ndarray
    rankings: list[Ranking]


def tuning_part(split: str) -> str:
    """Name the questions that the weights for a split are tuned on; halves of dev share no passage."""
    return "the other half of dev" if split == TUNING_SPLIT else TUNING_SPLIT


def tuned_apart(rankings: Sequence[Ranking], parameters: RerankingParameters) -> Iterator[Tuned]:
    """Tune each trial's weights, on each subset apart: the source takes subsets as benchmarks of their own.

    Each ranking comes once, with weights that were tuned on questions whose passages do not overlap with its own.

    Raises:
        CoattendError: If a subset, or a half of it, has no dev question with a known answer.
    """
    groups: dict[tuple[str, str], list[Ranking]] = {}
    for ranking in rankings:
        key = (ranking.prediction["trial_id"], ranking.question["subset"] or EVERYTHING)
        groups.setdefault(key, []).append(ranking)
    for (trial_id, subset), group in groups.items():
        # Each half of dev is answered with the weights of the other half.
        for tuned_on, applied_to, candidates, answered in _parts(group):
            learned = [ranking for ranking in candidates if ranking.question["label"] is not None]
            if not learned:
                raise CoattendError(
                    "there is no question with a known answer to tune weights on",
                    where=f"{tuned_on}, subset {subset}",
                    cure="It takes dev questions about two passages at least that do not overlap",
                )
            questions = [differences(ranking.features, ranking.right) for ranking in learned]
            # The first feature is the reader's own score: without tuning its order stays.
            start = np.eye(len(FEATURES))[0]
            weights = tune(questions, start, epochs=parameters.epochs, aggressiveness=parameters.aggressiveness)
            record: RerankingWeights = {
                "trial_id": trial_id,
                "seed": answered[0].prediction["seed"],
                "subset": subset,
                "tuned_on": tuned_on,
                "applied_to": applied_to,
                "questions": len(learned),
                "weights": dict(zip(FEATURES, weights.tolist(), strict=True)),
            }
            yield Tuned(record, weights, answered)


def _parts(group: Sequence[Ranking]) -> Iterator[tuple[str, str, list[Ranking], list[Ranking]]]:
    """Yield the part to tune on and the part to answer: names, then rankings."""
    dev = [ranking for ranking in group if ranking.question["split"] == TUNING_SPLIT]
    others = [ranking for ranking in group if ranking.question["split"] != TUNING_SPLIT]
    groups = _half_of_groups(Counter(ranking.question["group"] for ranking in dev))
    first = [ranking for ranking in dev if ranking.question["group"] in groups]
    second = [ranking for ranking in dev if ranking.question["group"] not in groups]
    names = [f"{TUNING_SPLIT}, half {number}" for number in (1, 2)]
    if first:
        yield names[1], names[0], second, first
    if second:
        yield names[0], names[1], first, second
    if others:
        splits = sorted({ranking.question["split"] for ranking in others})
        yield TUNING_SPLIT, ", ".join(splits), dev, others


def _half_of_groups(sizes: Mapping[str, int]) -> set[str]:
    """Select groups with about half of the questions; the order of their hashes has nothing to do with their content.

    Each group, the largest first, comes to the half that has fewer questions.
    """
    first: set[str] = set()
    in_first = in_second = 0
    for name in sorted(sizes, key=lambda name: (-sizes[name], text_id(name))):
        if in_first <= in_second:
            first.add(name)
            in_first += sizes[name]
        else:
            in_second += sizes[name]
    return first
