"""Types of the JSON records of answers whose attention is shown."""

from typing import TYPE_CHECKING, NotRequired, TypedDict

from coattend.evaluation.records import Setting, TrialRecord

if TYPE_CHECKING:
    from coattend.schemas import GoldAnswer


class MapLegend(TypedDict):
    """Description of an attention map: its rows, columns and scale."""

    on: str
    by: str | None
    level: str | None
    levels: int
    kind: str
    """As in `coattend.readers.legend.MapSpec`, or ``drop`` for occlusion."""


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
    options: dict[str, Setting]
    encoder: str
    legend: dict[str, MapLegend]
    agreement: dict[str, list[LevelAgreement]]


class SpanCandidate(TypedDict):
    """One of the best spans, in characters of the passage."""

    start: int
    end: int
    probability: float


class SequenceTexts(TypedDict):
    """The texts in the question's domain of one sequence."""

    texts: list[str]


class ReadingScore(TypedDict):
    """One trial's answer to one question, and its score."""

    prediction: str
    label: int | None
    correct: bool
    f1: float


class AttentionReading(ReadingScore):
    """An answer with its probabilities, and the texts of each of its sequences."""

    sequence: int
    probabilities: list[float] | None
    spans: list[SpanCandidate] | None
    nothing: float | None
    probability: float
    agreement: dict[str, list[float | None]]
    sequences: list[SequenceTexts]


class AttentionQuestion(TypedDict):
    """A question whose attention is shown, with one reading for each trial."""

    question_id: str
    split: str
    subset: str | None
    question: str
    options: list[str] | None
    label: int | None
    answers: "list[GoldAnswer] | None"
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


class StudyExample(TypedDict):
    """A question that a study shows, by its id or its text."""

    benchmark: str
    question: str


class VariantTitle(TypedDict):
    """A study's variant, as far as its attention page shows it."""

    title: str


class ExplainedStudy(TypedDict):
    """The fields of a study's findings that decide whose attention is shown, to which questions."""

    benchmarks: list[str]
    baseline: str
    variants: dict[str, VariantTitle]
    trials: dict[str, dict[str, list[TrialRecord]]]
    examples: list[StudyExample]
