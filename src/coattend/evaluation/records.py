"""Types of the JSON records that evaluation and training write and that reports read.

They describe plain dictionaries as they lie on disk. Percentages are numbers from 0 to 100.
"""

from collections.abc import Mapping
from typing import Any, Literal, NotRequired, Required, TypedDict, cast


class Score(TypedDict):
    """A metric in percent, with its bootstrap interval and each seed's own value."""

    mean: float
    low: float | None
    """Lower end of the interval; None with fewer than two passages."""
    high: float | None
    spread: float | None
    """Standard deviation over seeds; None with a single seed."""
    seeds: dict[str, float]


class GroupScores(TypedDict, total=False):
    """The metrics of one group of questions; a task has only those that apply to it."""

    questions: Required[int]
    passages: int
    missing: Required[int]
    """Questions without a prediction, which count as wrong."""
    accuracy: Score
    exact: Score
    f1: Score
    has_answer_exact: Score
    has_answer_f1: Score
    no_answer_exact: Score
    no_answer_f1: Score
    no_answer_share: float
    answerable: int
    answerability_auroc: float | None
    oracle_exact: float
    oracle_f1: float
    ece: Score
    aurc: Score


class ReliabilityBin(TypedDict):
    """A tenth of the questions, by confidence."""

    questions: int
    confidence: float
    accuracy: float


class RiskCurve(TypedDict):
    """Share of wrong answers among the most confident ones, at increasing coverage."""

    coverage: list[float]
    risk: list[float]


class Calibration(TypedDict, total=False):
    """Confidence of a reader's answers on one split; studies add the last three fields."""

    ece: Score
    ece_by_chance: Score
    confidence: Score
    aurc: Score
    aurc_at_best: Score
    reliability: dict[str, list[ReliabilityBin]]
    risk_coverage: dict[str, RiskCurve]
    accuracy: float
    group: str
    answerability_auroc: float | None


class CurvePoint(TypedDict, total=False):
    """A logged step of a training; scores and losses are fractions, not percent."""

    step: Required[int]
    epoch: float
    loss: float | None
    held_out: float | None
    held_out_loss: float | None


class TrialRecord(TypedDict, total=False):
    """A trial as its outcome describes it; one that failed has little more than the reason."""

    trial_id: Required[str]
    seed: Required[int]
    failure: Required[str | None]
    head: str
    data: str
    options: dict[str, Any]
    training: dict[str, Any]
    encoder: str
    seconds: float
    questions: int
    questions_per_second: float
    peak_memory_mib: float | None
    parameters: int
    device: str
    precision: str
    tagger: str
    selection: Literal["held_out", "dev"]
    best_step: int
    held_out: float | None
    curve: list[CurvePoint]
    unreadable: list[dict[str, Any]]
    null_threshold: float | None
    signs: dict[str, float | None]
    model_digest: str
    variant: str
    """Name of the reader in the registry."""


class TrialDescription(TrialRecord):
    """A finished trial's definition together with its outcome."""

    reader: str
    benchmark: str
    encoder_files: dict[str, Any]
    source: str


Groups = dict[str, GroupScores]
"""Group of questions, ``all`` or a subset, to its metrics."""


class IntervalMethod(TypedDict):
    """Method of intervals and their level of confidence."""

    method: str
    level: float
    resamples: int


class Summary(TypedDict):
    """Metrics of predictions: split to groups; ``not_scored`` counts questions by reason and split."""

    unit: str
    interval: IntervalMethod
    splits: dict[str, Groups]
    question_types: dict[str, Groups]
    not_scored: dict[str, dict[str, int]]


class ScoredTrials(Summary):
    """Metrics of trials of a reader on a benchmark."""

    benchmark: str
    reader: str
    trials: list[TrialRecord]


class ReaderMetrics(ScoredTrials):
    """Metrics of a reader on a benchmark, as the evaluation stage writes them."""

    task: str
    calibration: NotRequired[dict[str, Calibration]]
    not_read: NotRequired[dict[str, int]]


def metric_of(scores: GroupScores | None, metric: str) -> Score | float | None:
    """A metric by its name; None if the group does not have it."""
    return None if scores is None else cast("Mapping[str, Score | float | None]", scores).get(metric)


def score_of(scores: GroupScores, metric: str) -> Score:
    """A metric with an interval by its name, such as ``accuracy``."""
    return cast("Mapping[str, Score]", scores)[metric]


class BreakdownRow(TypedDict):
    """A variant's metric in one group of questions, as in `BREAKDOWNS`."""

    benchmark: str
    variant: str
    title: str
    split: str
    breakdown: str
    group: str
    questions: int
    metric: str
    mean: float
    low: float | None
    high: float | None


class EnsembleRow(TypedDict):
    """The metric of several trials that answer together."""

    how: str
    seeds: list[int]
    split: str
    group: str
    metric: str
    questions: int
    mean: float
    low: float | None
    high: float | None


class BoundaryCounts(TypedDict):
    """Counts of the parts of speech that begin or end answers, as means over trials."""

    gold: dict[str, float]
    predicted: dict[str, float]
    wrong: dict[str, float]


class SeedAnswer(TypedDict):
    """One trial's answer to an example."""

    answer: str | None
    right: bool


class Example(TypedDict, total=False):
    """A question that a study shows with every variant's answers; ``missing`` if the benchmark lacks it."""

    question: Required[str]
    missing: bool
    question_id: str
    options: list[str] | None
    gold: list[str]
    answers: dict[str, dict[str, SeedAnswer]]
    printed: dict[str, Any]


class RerankedSeed(TypedDict):
    """Accuracy of one trial before and after its candidates were re-ranked."""

    before: float
    after: float
    right_among_n_best: float
    gained: int
    lost: int
    mcnemar_p: float


class RerankedGroup(TypedDict):
    """Re-ranked trials on one group of questions, by seed."""

    questions: int
    missing: int
    seeds: dict[str, RerankedSeed]


class Reranked(TypedDict):
    """A variant's re-ranked answers: split to group to changes."""

    splits: dict[str, dict[str, RerankedGroup]]


class Analyses(TypedDict, total=False):
    """Analyses of a study on one benchmark, mostly by variant."""

    ensemble: dict[str, list[EnsembleRow]]
    boundary_pos: dict[str, BoundaryCounts]
    predictions: list[Example]
    reranking: dict[str, Reranked]
    calibration: dict[str, dict[str, Calibration]]
    scored: float


class TriedConfiguration(TypedDict):
    """One configuration of a hyper-parameter search."""

    values: dict[str, Any]
    trial_id: str
    held_out: float | None
    failure: str | None


class SearchResult(TypedDict):
    """A variant's hyper-parameter search; ``chosen`` indexes ``tried``, whose first is the configured one."""

    seed: int
    tried: list[TriedConfiguration]
    chosen: int


class VariantOutcome(TypedDict):
    """The trials of a study's variant on one benchmark."""

    variant: str
    task: str
    encoder: NotRequired[str]
    trained_on: NotRequired[str]
    search: NotRequired[SearchResult]
    trials: list[TrialRecord]


class MapLegend(TypedDict):
    """Description of an attention map: its rows, columns and scale."""

    on: str
    by: str | None
    level: str | None
    levels: int
    kind: Literal["share", "score", "drop"]


class LevelAgreement(TypedDict):
    """Mean rank correlation of one turn or head of a map with occlusion."""

    mean: float | None
    questions: int


class AttentionReader(TypedDict):
    """A trial whose attention is shown."""

    trial_id: str
    reader: str
    head: str
    seed: int
    options: dict[str, Any]
    encoder: str
    legend: dict[str, MapLegend]
    agreement: dict[str, list[LevelAgreement]]


class SpanCandidate(TypedDict):
    """One of the best spans, in characters of the passage."""

    start: int
    end: int
    probability: float


class AttentionReading(TypedDict):
    """One trial's answer to one question, with the texts of each of its sequences."""

    prediction: str
    label: int | None
    correct: bool
    f1: float
    sequence: int
    probabilities: list[float] | None
    spans: list[SpanCandidate] | None
    nothing: float | None
    probability: float
    agreement: dict[str, list[float | None]]
    sequences: list[dict[str, Any]]


class AttentionQuestion(TypedDict):
    """A question whose attention is shown, with one reading for each trial."""

    question_id: str
    split: str
    subset: str | None
    question: str
    options: list[str] | None
    label: int | None
    answers: list[dict[str, Any]] | None
    answerable: bool
    passage: str
    readings: list[AttentionReading]


class AttentionReadings(TypedDict):
    """Questions as one or two trials read them; without a finished trial only the first two lists are there, empty."""

    benchmark: str
    title: str
    task: NotRequired[str]
    occlusion: NotRequired[bool]
    readers: list[AttentionReader]
    questions: list[AttentionQuestion]
