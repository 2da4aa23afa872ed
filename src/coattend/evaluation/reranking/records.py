"""Types of the JSON records of candidates that were ranked again; percentages are from 0 to 100."""

from typing import TypedDict


class RerankedSeed(TypedDict):
    """Accuracy of one trial before and after its candidates were re-ranked."""

    before: float
    after: float
    right_among_n_best: float
    gained: int
    lost: int
    p: float | None  # Of the difference, over groups of questions; None with a single group.


class RerankedGroup(TypedDict):
    """Re-ranked trials on one group of questions, by seed."""

    questions: int
    missing: int
    seeds: dict[str, RerankedSeed]


class RerankingWeights(TypedDict):
    """Weights of features, and where they come from."""

    trial_id: str
    seed: int
    subset: str  # ``all`` where a benchmark has none.
    tuned_on: str  # The questions that they were tuned on: dev, or a half of it.
    applied_to: str
    questions: int  # How many questions they were tuned on.
    weights: dict[str, float]


class Reranked(TypedDict):
    """A variant's re-ranked answers: split to group to changes."""

    parameters: dict[str, int | float]
    splits: dict[str, dict[str, RerankedGroup]]
    tuned_on: dict[str, str]
    weights: list[RerankingWeights]
    learned_from: dict[str, int]


class RerankedReader(Reranked):
    """A reader's re-ranked answers on a benchmark."""

    benchmark: str
    reader: str
