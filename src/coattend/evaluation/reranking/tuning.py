"""Weights for candidates' features, and answers by weights that were tuned on other questions."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from coattend.errors import CoattendError
from coattend.evaluation.groups import EVERYTHING
from coattend.evaluation.reranking.mira import NBest, tune
from coattend.evaluation.reranking.rankings import Ranking
from coattend.parameters import RerankingParameters
from coattend.text.identity import text_id

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
    """What the weights are tuned on that a split's questions are answered with; halves of dev share no passage."""
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
        for tuned_on, applied_to, learned, answered in _parts(group):
            if not learned:
                raise _nothing_to_tune_on(tuned_on, subset)
            weights = _weights(learned, parameters)
            seed = answered[0].prediction["seed"]
            yield Tuned(trial_id, seed, subset, tuned_on, applied_to, len(learned), weights), answered


def _parts(group: Sequence[Ranking]) -> Iterator[tuple[str, str, list[Ranking], list[Ranking]]]:
    """What is tuned on and what is answered, each by name and as rankings."""
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
