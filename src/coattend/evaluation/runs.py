"""Trials of one variant on one benchmark, with their predictions."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from coattend.errors import CoattendError
from coattend.evaluation import groups
from coattend.evaluation.alignment import COLUMNS, Answers, Layout, align
from coattend.evaluation.records import ReaderMetrics, TrialRecord, VariantCost, VariantOutcome
from coattend.text.hashing import digest_of_ids

Trial = TypeVar("Trial", bound=TrialRecord)


def finished(trials: Iterable[Trial]) -> list[Trial]:
    """Return the trials that did not fail."""
    return [trial for trial in trials if not trial.get("failure")]


def included_costs(costs: Mapping[str, Mapping[str, VariantCost]], left_out: Collection[str]) -> list[VariantCost]:
    """Return the costs of a study's variants on each benchmark, but for the variants that its budget leaves out."""
    return [cost for by_variant in costs.values() for name, cost in by_variant.items() if name not in left_out]


def head_of(trials: Iterable[TrialRecord], task: str) -> str:
    """The head that a model's finished trials answer with: what their scores are, hangs on it."""
    # Records of early trials do not say it: theirs is called as its task.
    return next((trial["head"] for trial in finished(trials) if "head" in trial), task)


def home_of(benchmark: str, outcomes: Iterable[VariantOutcome]) -> tuple[str, ...]:
    """The subsets of a benchmark that all variants were trained on; none where that is all of it, or they differ."""
    trials = (trial for outcome in outcomes for trial in finished(outcome["trials"]))
    return shared_subsets(benchmark, (trial["training"].get("train_on", {}) for trial in trials))


def shared_subsets(benchmark: str, train_on: Iterable[Mapping[str, str | Sequence[str]]]) -> tuple[str, ...]:
    """The same, of what trainings name."""
    subsets_by_training = (subsets_of.get(benchmark, ()) for subsets_of in train_on)
    # A single subset may be written as a plain text.
    distinct = {(subsets,) if isinstance(subsets, str) else tuple(subsets) for subsets in subsets_by_training}
    return distinct.pop() if len(distinct) == 1 else ()


def asked_groups(requested: Sequence[str], trained_on: Sequence[str]) -> tuple[str, ...]:
    """The groups of a benchmark's questions that a study asks about, each a question of its own.

    These are the subsets that it names; else the one subset that all of its variants were trained on, or all questions.
    """
    return tuple(requested) or (tuple(trained_on) if len(trained_on) == 1 else (groups.EVERYTHING,))


def side_by_side(trials: Mapping[str, Sequence[TrialRecord]], baseline: str) -> dict[str, TrialRecord]:
    """The trials whose attention is shown: the first of a study's baseline and the first of its last variant.

    There are fewer than two where others have none that are trained and read whole questions.
    """
    first: dict[str, TrialRecord] = {}
    for name, trials_of_variant in trials.items():
        for trial in finished(trials_of_variant):
            if trial["training"].get("reads", "all") == "all" and trial.get("trained", True):
                first.setdefault(name, trial)
    others = [name for name in first if name != baseline]
    return {name: first[name] for name in (baseline, *others[-1:]) if name in first}


def chosen_on_scored(trial: TrialRecord, benchmark: str, trained_on: str | None = None) -> bool:
    """Return True if a trial's checkpoint, and its null threshold, were chosen on a benchmark's dev, which is scored.

    ``trained_on`` is the benchmark that it was trained on, if that is another one.
    """
    on_benchmarks = trial.get("training", {}).get("train_on") or (trained_on or benchmark,)
    return trial.get("selection") == "dev" and benchmark in on_benchmarks


def training_benchmark(metrics: ReaderMetrics) -> str:
    """Name the benchmark that a reader learned from, which may be another one than it is scored on."""
    return metrics.get("trained_on", metrics["benchmark"])


def selection_of(trials: Iterable[TrialRecord], benchmark: str, trained_on: str) -> str:
    """Name the questions that trials chose their checkpoints on, ``held_out``, ``dev`` or ``dev of <benchmark>``.

    Trials that differ have all of them, separated by commas. Trials of early versions do not say it.
    """
    names = (
        "dev"
        if chosen_on_scored(trial, benchmark, trained_on)
        else f"dev of {trained_on}"
        if trial.get("selection") == "dev"
        else trial.get("selection", "unknown")
        for trial in trials
    )
    return ", ".join(sorted(set(names)))


def curve_questions(trials: Iterable[TrialRecord]) -> str:
    """Name the questions that training curves have scores of, which are those that checkpoints are chosen on."""
    on_dev = {trial.get("selection") == "dev" for trial in trials if trial.get("curve")}
    return "held-out questions or dev" if len(on_dev) > 1 else "dev" if True in on_dev else "held-out questions"


def digest_of_scored(questions: pa.Table, task: str) -> str:
    """Return the digest of the questions of a task that are scored."""
    return digest_of_ids(groups.scored_questions(questions, task)[0]["question_id"].to_pylist())


def is_outdated(scored: VariantOutcome | ReaderMetrics, questions: pa.Table) -> bool:
    """Return True if a variant or a reader was scored on other questions than a benchmark has now."""
    # Those of early versions do not say it.
    return "scored" in scored and scored["scored"] != digest_of_scored(questions, scored["task"])


def check_scored(outcome: VariantOutcome, questions: pa.Table) -> None:
    """Raise a `CoattendError` if a variant `is_outdated`."""
    if is_outdated(outcome, questions):
        benchmark = outcome.get("benchmark", "its benchmark")
        raise CoattendError(
            f"was scored on other questions than {benchmark} has now",
            where=f"variant {outcome['variant']}",
            cure="Run the study's pipeline again, or the variant's node: what is trained already is only scored",
        )


@dataclass(frozen=True)
class Run:
    """A variant that was run: its finished trials, and what they answered to the questions of their task."""

    variant: str
    task: str
    head: str  # What gives its scores.
    trials: Sequence[TrialRecord]
    questions: pa.Table  # Those that are scored.
    predictions: pa.Table
    group: str = groups.EVERYTHING  # ``all`` questions, or the subsets that alone are looked at.

    @classmethod
    def of(
        cls, outcome: VariantOutcome, predictions: pa.Table, questions: pa.Table, subsets: Sequence[str] = ()
    ) -> "Run | None":
        """From the outcome of a variant and a benchmark's questions, all of them or those of some subsets.

        None where no trial was finished, or no question is scored.

        Raises:
            CoattendError: If its trials were scored on other questions: those without an answer would count as wrong.
        """
        trials, task = finished(outcome["trials"]), outcome["task"]
        if not trials or task is None:
            return None
        check_scored(outcome, questions)
        scored, _ = groups.scored_questions(questions, task)
        if subsets:
            scored = scored.filter(pc.is_in(scored["subset"].cast(pa.string()), pa.array(subsets)))
        group = ", ".join(subsets) or groups.EVERYTHING
        run = cls(outcome["variant"], task, head_of(trials, task), trials, scored, predictions, group)
        return run if len(scored) else None

    @property
    def seed_of(self) -> dict[str, int]:
        """The seed of each trial, by its id."""
        return {trial["trial_id"]: trial["seed"] for trial in self.trials}

    @property
    def ids(self) -> list[str]:
        """The ids of its trials."""
        return list(self.seed_of)

    @property
    def seeds(self) -> list[int]:
        """The seeds of its trials."""
        return list(self.seed_of.values())

    @cached_property
    def marks(self) -> Answers:
        """The marks of its trials, as the questions stand in `questions`."""
        return align(self.predictions.select(COLUMNS), self.questions["question_id"], self.ids)

    @cached_property
    def answered(self) -> dict[str, np.ndarray]:
        """The splits that a trial answered at all, as masks [questions]."""
        splits = groups.members(self.questions["split"])
        return {name: rows for name, rows in splits.items() if not self.marks.of(rows).missing.all()}

    def marks_by_seed(self) -> dict[int, Answers]:
        """The same for each seed alone."""
        # A slice of one row keeps the axis of trials.
        return {
            seed: Answers(**{name: values[row : row + 1] for name, values in vars(self.marks).items()})
            for row, seed in enumerate(self.seeds)
        }

    def texts(self) -> list[list[str | None]]:
        """Return each trial's answer to each question [trials, questions], None if it has none."""
        layout = Layout(self.predictions, self.questions["question_id"], self.ids)
        texts: list[list[str | None]] = layout.matrix(self.predictions["prediction"], None).tolist()
        return texts
