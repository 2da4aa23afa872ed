"""Types of the JSON records that evaluation and training write and reports read; percentages are from 0 to 100."""

from collections.abc import Mapping, Sequence
from typing import Literal, NotRequired, Required, TypedDict, cast

from coattend.evaluation.reranking.records import Reranked


class Estimate(TypedDict):
    """A mean or a difference with its interval; the ends are None where groups of questions are too few."""

    mean: float
    low: float | None
    high: float | None


class Score(Estimate):
    """A metric in percent with each seed's own value."""

    spread: float | None  # Standard deviation over seeds; None with a single seed.
    seeds: dict[str, float]


class GroupScores(TypedDict, total=False):
    """The metrics of one group of questions; a task has only those that apply to it."""

    questions: Required[int]
    passages: int
    groups: int  # Of questions whose passages overlap: the units of intervals.
    missing: Required[int]  # Questions without a prediction, which count as wrong.
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
    seconds: float  # Of training so far, by the clock, without evaluations; earlier trials lack them.
    processor_seconds: float  # Of all of the processor's threads.
    loss: float | None
    held_out: float | None
    held_out_loss: float | None


Setting = str | int | float | bool | None


class TrainingRecord(TypedDict, total=False):
    """The training of a trial; its other fields are those of `coattend.config.TrainingParameters`."""

    epochs: float
    train_on: dict[str, str | list[str]]
    precision: str
    start_from: str | None
    distillation: dict[str, str | float]
    reads: str
    frozen: bool
    scorer: str


class Unreadable(TypedDict):
    """A question that a reader cannot be given, and the reason."""

    question_id: str
    reason: str


class TrialRecord(TypedDict, total=False):
    """A trial as its outcome describes it; one that failed has little more than the reason."""

    trial_id: Required[str]
    seed: Required[int]
    failure: Required[str | None]
    folder: str  # Name of its folder.
    head: str
    data: str
    benchmark_version: int
    commit: str  # Of the code that trained it, with ``-dirty`` behind it if files had changed; earlier trials lack it.
    options: dict[str, Setting]
    training: TrainingRecord
    encoder: str
    seconds: float
    questions: int
    questions_per_second: float
    peak_memory_mib: float | None
    training_score: float  # On some of its training questions, as a fraction; of studies that ask for it.
    training_sample: int  # How many these are.
    parameters: int
    device: str
    processor: str
    threads: int
    precision: str
    tagger: str
    selection: Literal["held_out", "dev"]
    best_step: int
    held_out: float | None
    curve: list[CurvePoint]
    unreadable: list[Unreadable]
    null_threshold: float | None
    signs: dict[str, float | None]
    model_digest: str
    variant: str  # Name of the reader in the registry.
    trained: bool  # False for a language model as it is: seconds and speed are those of its answers.


class TrialDescription(TrialRecord):
    """A finished trial's definition together with its outcome."""

    reader: str
    benchmark: str
    encoder_files: dict[str, str | float | None]
    source: str


class TrainedReader(TypedDict):
    """The trials of a reader on a benchmark, as the training stage writes them."""

    benchmark: str
    reader: str
    task: str
    trials: Sequence[TrialRecord]


Groups = dict[str, GroupScores]
"""Group of questions, ``all`` or a subset, to its metrics."""


class IntervalMethod(TypedDict):
    """Method of intervals and their level of confidence."""

    method: str
    level: float


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
    trained_on: NotRequired[str]  # The benchmark that it learned from; early metrics lack it.
    scored: NotRequired[str]  # Digest of the ids of the questions that are scored; early metrics lack it.
    benchmark_version: NotRequired[int]  # Of the same; they lack it, too.
    calibration: NotRequired[dict[str, Calibration]]
    not_read: NotRequired[dict[str, int]]


def metric_of(scores: GroupScores | None, metric: str) -> Score | float | None:
    """A metric by its name; None if the group does not have it."""
    return None if scores is None else cast("Mapping[str, Score | float | None]", scores).get(metric)


def score_of(scores: GroupScores, metric: str) -> Score:
    """A metric with an interval by its name, such as ``accuracy``."""
    return cast("Mapping[str, Score]", scores)[metric]


class GroupEstimate(Estimate):
    """A metric in percent on one group of the questions of a split."""

    split: str
    group: str
    questions: int
    metric: str


class BreakdownRow(GroupEstimate):
    """A variant's metric in one group of questions, as in `BREAKDOWNS`."""

    benchmark: str
    variant: str
    title: str
    breakdown: str


class EnsembleRow(GroupEstimate):
    """The metric of several trials that answer together."""

    how: str
    seeds: list[int]


class BoundaryCounts(TypedDict):
    """Counts of the parts of speech that begin or end answers, and of answers, as means over trials."""

    gold: dict[str, float]
    predicted: dict[str, float]
    wrong: dict[str, float]
    questions: int
    wrong_answers: float  # Answers that equal no gold answer.


class SplitAverage(TypedDict):
    """A metric's mean over splits, each counting alike, in percent, and its gain over the baseline's, in points."""

    metric: str
    splits: list[str]
    mean: float
    gain: Estimate | None  # None for the baseline, and where the baseline was not run.


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
    printed: dict[str, str | int | float]
    """Variant to the answer that the paper prints, or to the number of its option, from 1."""


class TrivialScore(TypedDict):
    """The score, in percent, of a baseline that learns nothing, on a subset of a split."""

    name: str
    split: str
    group: str
    metric: str
    score: float


class Analyses(TypedDict, total=False):
    """Analyses of a study on one benchmark, mostly by variant."""

    average: dict[str, list[SplitAverage]]
    ensemble: dict[str, list[EnsembleRow]]
    boundary_pos: dict[str, BoundaryCounts]
    predictions: list[Example]
    reranking: dict[str, Reranked]
    calibration: dict[str, dict[str, Calibration]]
    trivial_baselines: list[TrivialScore]
    scored: float  # Share of the benchmark's questions that is asked.
    train_from_dev: float  # Share of its dev questions that are trained on, if train was drawn from dev.
    benchmark_version: int
    simulated: bool  # True if the benchmark's texts are generated.


class TriedConfiguration(TypedDict):
    """One configuration of a hyper-parameter search."""

    values: dict[str, float | None]
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

    benchmark: NotRequired[str]
    variant: str
    task: str
    encoder: NotRequired[str]
    trained_on: NotRequired[str]
    search: NotRequired[SearchResult]
    scored: NotRequired[str]  # Digest of the ids of the questions that its trials were scored on.
    trials: Sequence[TrialRecord]


class VariantCost(TypedDict):
    """Cost of the trials of a variant that are still to be trained."""

    trials: int
    seconds: float  # Of one processor or GPU, for all of them; 0 if they cannot be timed.
    known_from: str


class StudyCosts(TypedDict):
    """Costs of a study, and what it can show for them."""

    costs: dict[str, dict[str, VariantCost]]  # By benchmark and variant.
    questions: dict[str, dict[str, int]]
    """Scored questions by benchmark and split, and by subset where it compares several."""
    resolves: dict[str, float | None]
    """By benchmark the smallest difference in points that its smallest split can show."""
    left_out: list[str]  # Variants that the budget leaves out.


class Differences(TypedDict):
    """Differences between two tables of predictions for the same questions."""

    questions: int
    other_answers: int  # Answers that differ.
    largest_difference: float  # Largest difference between the scores of the other ones.


class BatchInvariance(TypedDict):
    """A finished trial's answers to questions asked one at a time, compared with those in full batches."""

    trial: str
    about: str
    reader: str  # Name of its entry.
    benchmark: str
    seed: int
    questions: int
    trained_in: str  # Precision of its training.
    device: str
    processor: str
    threads: int
    precisions: dict[str, Differences]  # ``fp32`` and ``bf16`` to what differs.


class Verification(Differences):
    """A finished trial's answers, predicted again and compared with the stored ones."""

    trial: str
    about: str
    weights: bool  # True if they have not changed.
    data: bool | None  # True if its training questions have not changed; None with those of several benchmarks.
    run: bool | None  # True if its MLflow run has the stored predictions; None without a run.
    other_metrics: list[str]  # Metrics of its run that differ now.
