"""Types of the records that reports themselves write: comparisons of readers and of trials, findings of studies."""

from collections.abc import Mapping
from typing import Literal, NotRequired, TypeAlias, TypedDict

from coattend.evaluation.records import (
    Analyses,
    BreakdownRow,
    Estimate,
    GroupEstimate,
    ReaderMetrics,
    SearchResult,
    Setting,
    TrialRecord,
)

Numbers: TypeAlias = "float | str | Mapping[str, Numbers]"
"""What a study file says that a paper prints: a number, or numbers by benchmark, split, metric, step or tag."""


class TestedEstimate(Estimate):
    """A difference with its p value; None with a single group of questions."""

    p: float | None


class ReaderEntry(TypedDict):
    """A reader in a comparison; without metrics if it was not run, or scored on other questions than there are now."""

    status: Literal["scored", "failed", "not run", "outdated"]
    metrics: ReaderMetrics | None


class ReaderDifference(TestedEstimate):
    """A reader against its task's baseline on one split, in percentage points."""

    task: str
    split: str
    metric: str
    reader: str
    baseline: str
    p_corrected: NotRequired[float | None]  # For the number of readers on this split, by this metric.
    over_seeds: NotRequired[bool]  # True if the interval covers other seeds, too.
    mcnemar_p: float | None


class RejectedRecords(TypedDict):
    """Number of records that ingestion rejected, in all and by reason, the most frequent first."""

    records: int
    reasons: dict[str, int]


class BenchmarkResults(TypedDict):
    """All readers of a benchmark, compared."""

    benchmark: str
    title: str
    unit: str
    readers: dict[str, ReaderEntry]
    baselines: dict[str, str]  # Task to the reader that others are compared with.
    chance: dict[str, dict[str, dict[str, float]]]  # Task to split to group to the percentage that guessing scores.
    differences: list[ReaderDifference]
    rejected: RejectedRecords
    scored: NotRequired[float]  # Share of the benchmark's questions that is scored.
    train_from_dev: NotRequired[float]  # Share of its dev questions that are trained on, if train was drawn from dev.
    benchmark_version: NotRequired[int]
    simulated: NotRequired[bool]  # True if the benchmark's texts are generated.


class TrialDifference(TestedEstimate):
    """Left and right trial by one metric: both in percent, and left minus right in points."""

    left: float
    right: float


class Contest(TypedDict):
    """Two trials on one split, or on one subset of it."""

    split: str
    group: str
    questions: int
    missing: dict[str, int]
    counts: dict[str, int]
    mcnemar_p: float | None
    metrics: dict[str, TrialDifference]


class PrintedScore(TypedDict):
    """A paper's number; ``checkpoints`` if it is the best of that many."""

    value: float
    encoder: str
    ensemble: bool
    checkpoints: NotRequired[int]


class PrintedBlock(TypedDict):
    """A paper's numbers for one encoder: variant to benchmark or quantity to numbers."""

    encoder: str
    ensemble: bool
    numbers: dict[str, dict[str, Numbers]]


class CitedSystem(TypedDict):
    """A system that a paper only quotes."""

    name: str
    mark: str | None
    encoder: str | None
    source: str | None
    numbers: dict[str, Numbers]


class SeedEstimate(TestedEstimate):
    """A variant against its baseline with one seed."""

    seed: int
    mcnemar_p: float | None


class BaselineDifference(TypedDict):
    """A variant against its baseline, in percentage points; None if they were not compared."""

    difference: float | None
    difference_low: float | None
    difference_high: float | None
    p: float | None
    resolves: float | None  # The smallest difference that this many questions detect with 80 % power.
    over_seeds: bool | None  # True if the interval covers other seeds, too.


class StudyRow(GroupEstimate, BaselineDifference):
    """A variant's metric on one group of questions, and how it differs from the baseline's."""

    benchmark: str
    variant: str
    title: str
    encoder: str | None
    baseline: str | None
    trials: int
    selection: NotRequired[str]
    """Where checkpoints were chosen: ``held_out``, or ``dev``, also of another benchmark; several with commas."""
    spread: float | None
    seeds: dict[str, float]
    p_corrected: NotRequired[float | None]
    by_seed: list[SeedEstimate]
    printed: list[PrintedScore]
    verdict: NotRequired[str | None]


class Variant(TypedDict):
    """A study's variant; ``series`` and ``at`` place it in figures of lines."""

    title: str
    change: NotRequired[dict[str, Setting]]
    benchmarks: NotRequired[list[str] | None]
    against: NotRequired[str | None]
    repeats: NotRequired[str | None]
    series: NotRequired[list[str]]
    at: NotRequired[float | str | None]


class SearchSpace(TypedDict):
    """Values of one hyper-parameter that a search draws from."""

    low: float | None
    high: float | None
    log: bool
    choices: list[Setting] | None


class Search(TypedDict):
    """A study's hyper-parameter search, as it is configured."""

    trials: int
    space: dict[str, SearchSpace]


class TrialFailure(TypedDict):
    """A trial without a result, and the reason."""

    benchmark: str
    variant: str
    seed: int
    failure: str


class StudyFindings(TypedDict):
    """A study's own fields, as in its file, with what was measured."""

    name: str
    title: str
    source: str
    benchmarks: list[str]
    protocol: Literal["finetuned", "frozen"]
    seeds: list[int]  # Seeds that were run.
    search: NotRequired[Search | None]
    options: NotRequired[dict[str, Setting]]
    base: NotRequired[dict[str, Setting]]
    baseline: str
    variants: dict[str, Variant]
    metric: NotRequired[str | None]
    asks: NotRequired[dict[str, list[str]]]
    thresholds: NotRequired[dict[str, float]]  # Held-out scores in percent, by benchmark.
    shows: list[str]
    axis: str | None
    printed: list[PrintedBlock]
    cited: list[CitedSystem]
    notes: list[str]
    rows: list[StudyRow]
    trials: dict[str, dict[str, list[TrialRecord]]]  # Benchmark to variant to its trials.
    trained_on: dict[str, dict[str, str]]
    """Benchmark to variant to the other benchmark that its trials were trained on."""
    homes: dict[str, list[str]]  # Benchmark to the subsets that analyses are restricted to; empty for all of it.
    searches: NotRequired[dict[str, dict[str, SearchResult]]]
    failures: list[TrialFailure]
    analyses: dict[str, Analyses]
    breakdowns: list[BreakdownRow]
    left_out: NotRequired[list[str]]  # Variants that the budget left no time for.


class LeaderboardRow(TypedDict):
    """A configuration on one machine; seconds are by seed, None where the threshold is not reached."""

    benchmark: str
    study: str
    variant: str
    title: str
    threshold: float
    date: str
    commit: str | None
    machine: str
    seconds: dict[str, float | None]
    processor_seconds: dict[str, float | None]
    peak_memory_mib: float | None
    score: float | None
    """Mean on dev, in percent: accuracy, or F1 of spans."""
