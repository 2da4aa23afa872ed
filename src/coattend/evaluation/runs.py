"""Trials of one variant on one benchmark, with their predictions."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from coattend.evaluation import alignment, groups

Trial = TypeVar("Trial", bound=Mapping[str, Any])


def finished(trials: Iterable[Trial]) -> list[Trial]:
    """Return the trials that did not fail."""
    return [trial for trial in trials if not trial.get("failure")]


def head_of(outcome: Mapping[str, Any]) -> str:
    """The head that a model's finished trials answer with: what their scores are, hangs on it.

    Records of early trials do not say it: theirs is called as its task.
    """
    head: str = next((trial["head"] for trial in finished(outcome["trials"]) if "head" in trial), outcome["task"])
    return head


def home_of(benchmark: str, outcomes: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """The subsets of a benchmark that all variants were trained on; none where that is all of it, or they differ."""
    trials = (trial for outcome in outcomes for trial in finished(outcome["trials"]))
    return shared_subsets(benchmark, (trial["training"].get("train_on", {}) for trial in trials))


def shared_subsets(benchmark: str, train_on: Iterable[Mapping[str, str | Sequence[str]]]) -> tuple[str, ...]:
    """The same, of what trainings name."""
    subsets_by_training = (distinct.get(benchmark, ()) for distinct in train_on)
    # A single subset may be written as a plain text.
    distinct = {(subsets,) if isinstance(subsets, str) else tuple(subsets) for subsets in subsets_by_training}
    return distinct.pop() if len(distinct) == 1 else ()


def asked_groups(requested: Sequence[str], trained_on: Sequence[str]) -> tuple[str, ...]:
    """The groups of a benchmark's questions that a study asks about, each a question of its own.

    Args:
        requested: The subsets that the study names.
        trained_on: The subsets that all of its variants were trained on; used if it names none and this is one.

    Returns:
        These subsets, or the group of all questions.
    """
    return tuple(requested) or (tuple(trained_on) if len(trained_on) == 1 else (groups.EVERYTHING,))


def side_by_side(findings: Mapping[str, Any], benchmark: str) -> dict[str, Mapping[str, Any]]:
    """The trials of a study whose attention is shown: the first of its baseline and the first of its last variant.

    Args:
        findings: What the study found.
        benchmark: Where.

    Returns:
        Variant to trial; fewer than two where others have none that read whole questions.
    """
    first = {
        name: complete[0]
        for name, trials in findings["trials"][benchmark].items()
        if (complete := [trial for trial in finished(trials) if trial["training"].get("reads", "all") == "all"])
    }
    others = [name for name in first if name != findings["baseline"]]
    return {name: first[name] for name in (findings["baseline"], *others[-1:]) if name in first}


@dataclass(frozen=True)
class Run:
    """A variant that was run.

    Attributes:
        variant: Its name.
        task: What it answers.
        head: What gives its scores.
        trials: What its finished trials came to.
        questions: The benchmark's questions of this task that are scored.
        predictions: What the trials answered to them.
        group: What these questions are called: ``all``, or the subsets that alone are looked at.
    """

    variant: str
    task: str
    head: str
    trials: Sequence[Mapping[str, Any]]
    questions: pa.Table
    predictions: pa.Table
    group: str = groups.EVERYTHING

    @classmethod
    def of(
        cls, outcome: Mapping[str, Any], predictions: pa.Table, questions: pa.Table, subsets: Sequence[str] = ()
    ) -> "Run | None":
        """From what a study keeps of a variant; None where no trial was finished, or no question is scored.

        Args:
            outcome: What its trials came to.
            predictions: What they answered.
            questions: The benchmark's questions.
            subsets: Those that are looked at; none: all.
        """
        trials = finished(outcome["trials"])
        if not trials:
            return None
        scored, _ = groups.scored_questions(questions, outcome["task"])
        if subsets:
            scored = scored.filter(pc.is_in(scored["subset"].cast(pa.string()), pa.array(subsets)))
        group = ", ".join(subsets) or groups.EVERYTHING
        description = (outcome["variant"], outcome["task"], head_of(outcome), trials)
        return cls(*description, scored, predictions, group) if len(scored) else None

    @property
    def ids(self) -> list[str]:
        """The ids of its trials."""
        return [trial["trial_id"] for trial in self.trials]

    @property
    def seeds(self) -> list[int]:
        """The seeds of its trials."""
        return [trial["seed"] for trial in self.trials]

    @property
    def seed_of(self) -> dict[str, int]:
        """The seed of each trial, by its id."""
        return dict(zip(self.ids, self.seeds, strict=True))

    @cached_property
    def marks(self) -> alignment.Answers:
        """The marks of its trials, as the questions stand in `questions`."""
        return alignment.align(self.predictions.select(alignment.COLUMNS), self.questions["question_id"], self.ids)

    def marks_by_seed(self) -> dict[int, alignment.Answers]:
        """The same for each seed alone."""
        # A slice of one row keeps the axis of trials.
        return {
            seed: alignment.Answers(**{name: values[row : row + 1] for name, values in vars(self.marks).items()})
            for row, seed in enumerate(self.seeds)
        }

    def texts(self) -> list[list[str | None]]:
        """Return each trial's answer to each question [trials, questions], None if it has none."""
        keys = (self.predictions[name].to_pylist() for name in ("trial_id", "question_id", "prediction"))
        text_of = {(trial, question): text for trial, question, text in zip(*keys, strict=True)}
        ids = self.questions["question_id"].to_pylist()
        return [[text_of.get((trial, question)) for question in ids] for trial in self.ids]
