"""Analyses of a study beside its scores: breakdowns, ensembles, calibration, boundary words and examples."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads

from coattend.config import BenchmarkParameters, StudyParameters
from coattend.config.study import ExampleParameters
from coattend.evaluation import breakdowns, ensembles, groups, squad, summary
from coattend.evaluation.bootstrap import Interval, interval, intervals
from coattend.evaluation.calibration import calibrate
from coattend.evaluation.parts_of_speech import PREDICTION_COLUMNS, boundary_tags, parts_of_speech, tagged
from coattend.evaluation.records import Calibration, SeedAnswer
from coattend.evaluation.runs import Run, home_of
from coattend.evaluation.summary import METRICS, marks
from coattend.schemas import BREAKDOWNS, read_passage_texts


class Tagging(NamedTuple):
    """Parts of speech of a benchmark's texts.

    Attributes:
        tags: The tags table.
        names: The tags by their ids.
    """

    tags: pads.Dataset
    names: Sequence[str]


def breakdown_rows(
    task: str, runs: Sequence[Run], questions: pa.Table, passages: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    """Metrics in groups of questions, for each split and breakdown that says something.

    Args:
        task: What is answered.
        runs: The variants that were asked these questions.
        questions: The questions, with the columns `breakdowns.COLUMNS` and `breakdowns.POS`.
        passages: Text by passage id.

    Yields:
        ``variant``, ``split``, ``breakdown``, ``group``, ``questions``, ``metric``, ``mean``, ``low`` and ``high`` in
        percent.
    """
    numbers, answered = groups.passage_numbers(questions), {run.variant: _answered(run) for run in runs}
    for breakdown, divide in breakdowns.BREAKDOWNS.items():
        # Only readers of words choose among candidates whose occurrences the passage can count.
        if breakdown == "by_answer_frequency" and task != "word":
            continue
        divided = divide(questions, passages)
        for split, rows in groups.members(questions["split"]).items():
            scored = [(run, metric) for run in runs if split in answered[run.variant] for metric in METRICS[task]]
            for group, inside in groups.within(rows, divided):
                location = {"split": split, "breakdown": breakdown, "group": group, "questions": int(inside.sum())}
                values = [marks(run.marks, metric)[:, inside] for run, metric in scored]
                # One call for all variants and metrics, since those with as many seeds share their resamples.
                for (run, metric), estimate in zip(scored, intervals(values, numbers[inside]), strict=True):
                    yield {"variant": run.variant} | location | {"metric": metric} | _percent(estimate)


def ensemble_rows(run: Run) -> Iterator[dict[str, Any]]:
    """Score ensembles of a variant's trials in each split and subset; dev, if there is one, chooses the greedy one."""
    numbers, splits = groups.passage_numbers(run.questions), _answered(run)
    held_out = [trial["held_out"] or 0.0 for trial in run.trials]
    for ensemble in ensembles.ensembles(_joint(run), held_out, splits.get("dev")):
        description = {"how": ensemble.how, "seeds": [run.seeds[position] for position in ensemble.trials]}
        for split, rows in splits.items():
            for group, inside in groups.within(rows, groups.subsets(run.questions, run.group)):
                for metric in METRICS[run.task]:
                    location = {"split": split, "group": group, "metric": metric, "questions": int(inside.sum())}
                    yield (
                        description
                        | location
                        | _percent(interval(marks(ensemble, metric)[None, inside], numbers[inside]))
                    )


def calibration_of(run: Run) -> dict[str, Calibration]:
    """Measure the calibration of a variant's trials.

    Returns:
        Split to ``group``, the name of its questions; ``accuracy`` in percent; ``answerability_auroc`` in percent, None
        where all questions have an answer; and where its scores say how sure it is, what
        `coattend.evaluation.calibration.calibrate` has.
    """
    by_split = calibrate(run.predictions, run.questions, task=run.task, head=run.head, trials=run.seed_of)
    answerable = run.questions["answerable"].to_numpy()
    return {
        split: {
            "group": run.group,
            "accuracy": 100 * float(run.marks.correct[:, rows].mean()),
            "answerability_auroc": summary.answerability(run.marks.of(rows), answerable[rows]),
            **by_split.get(split, {}),
        }
        for split, rows in _answered(run).items()
    }


def boundary_counts(run: Run, passages: Mapping[str, str], tagging: Tagging) -> dict[str, dict[str, float]]:
    """Count the tags of boundary words, as means over trials.

    Returns:
        ``gold``, ``predicted`` and ``wrong``: tag to count, as of `boundary_tags`.
    """
    passage_ids = set(run.questions["passage_id"].to_pylist())
    words = tagged({name: passages[name] for name in passage_ids}, *tagging)
    counted = [
        boundary_tags(
            run.predictions.filter(pc.equal(run.predictions["trial_id"], trial)).select(PREDICTION_COLUMNS),
            run.questions,
            words,
        )
        for trial in run.ids
    ]
    return {
        count_name: {
            tag: sum(counter[count_name][tag] for counter in counted) / len(counted)
            for tag in _tags(counted, count_name)
        }
        for count_name in counted[0]
    }


def example_of(example: ExampleParameters, questions: pa.Table, runs: Sequence[Run]) -> dict[str, Any] | None:
    """Collect every variant's answers to one question; None if the benchmark does not have it.

    Args:
        example: The question, by its id or its text.
        questions: The benchmark's questions, with the columns `coattend.evaluation.breakdowns.COLUMNS`.
        runs: The variants.
    """
    questions = questions.filter(pc.not_equal(questions["split"].cast(pa.string()), groups.TRAINING_SPLIT))
    is_example = pc.or_(
        pc.equal(questions["question_id"], example.question), pc.equal(questions["question"], example.question)
    )
    rows = questions.filter(is_example).slice(0, 1)
    if not len(rows):
        return None
    row = rows.to_pylist()[0]
    answered = {run.variant: _answers_to(run, row["question_id"]) for run in runs}
    return {
        "question_id": row["question_id"],
        "question": row["question"],
        "options": row["options"],
        "gold": breakdowns.gold_answers(rows)[0],
        "answers": answered,
        "printed": example.printed,
    }


def _answers_to(run: Run, question_id: str) -> dict[str, SeedAnswer]:
    """Seed to answer and whether it is right; without those that did not answer."""
    answers = run.predictions.filter(pc.equal(run.predictions["question_id"], question_id))
    rows = answers.select(["seed", "prediction", "correct"]).to_pylist()
    return {str(row["seed"]): {"answer": row["prediction"], "right": row["correct"]} for row in rows}


def _answered(run: Run) -> dict[str, np.ndarray]:
    """The splits that a trial answered at all, as masks [questions]."""
    splits = groups.members(run.questions["split"])
    return {name: rows for name, rows in splits.items() if not run.marks.of(rows).missing.all()}


def _joint(run: Run) -> ensembles.Joint:
    # Without a score for each option trials can only vote; with scores their probabilities are averaged.
    if run.task == "span" or run.predictions["scores"].null_count:
        return ensembles.by_vote(run.texts(), run.marks, alike=squad.normalise if run.task == "span" else str)
    ids = run.questions["question_id"].to_pylist()
    return ensembles.by_probability(
        ensembles.of_options(run.predictions, ids, run.ids, run.head), run.questions["label"].to_numpy()
    )


def _percent(estimate: Interval) -> dict[str, float | None]:
    return {name: None if end is None else 100 * end for name, end in vars(estimate).items()}


def _tags(counted: Sequence[Mapping[str, Mapping[str, int]]], count_name: str) -> list[str]:
    """The tags of all counts, the most frequent first."""
    totals: dict[str, int] = {}
    for counter in counted:
        for tag, count in counter[count_name].items():
            totals[tag] = totals.get(tag, 0) + count
    return sorted(totals, key=lambda tag: (-totals[tag], tag))


@dataclass(frozen=True)
class Material:
    """Tables of a benchmark that analyses read.

    Attributes:
        benchmark: What is asked.
        questions: Its questions.
        passages: Its passages.
        tags: Tagging profile to its tags table and the tags by their ids.
        read: Variant to the tagging profile that it reads.
    """

    benchmark: BenchmarkParameters
    questions: pads.Dataset
    passages: pads.Dataset
    tags: Mapping[str, tuple[pads.Dataset, Sequence[str]]]
    read: Mapping[str, str]

    @cached_property
    def asked(self) -> pa.Table:
        """The questions with all that analyses ask of them."""
        return self.questions.to_table(columns=breakdowns.COLUMNS)

    @cached_property
    def texts(self) -> dict[str, str]:
        """Text by passage id, of passages that are asked about outside of training."""
        scored = self.asked.filter(pc.not_equal(self.asked["split"].cast(pa.string()), groups.TRAINING_SPLIT))
        return read_passage_texts(self.passages, scored["passage_id"])

    def with_pos(self, questions: pa.Table, tagging: str) -> pa.Table:
        """Questions with the parts of speech of their answers, by the tags of one profile."""
        parts = parts_of_speech(questions, self.texts, *self.tags[tagging], benchmark=self.benchmark)
        return questions.append_column(breakdowns.POS, pa.array(parts, pa.string()))

    def runs(self, parts: Mapping[str, tuple[dict[str, Any] | None, pads.Dataset | None]]) -> list[Run]:
        """The variants that were run, on the subsets that all of them were trained on.

        Args:
            parts: Variant to what its trials came to and answered; None where it was not run.
        """
        finished_parts = [
            (outcome, table) for outcome, table in parts.values() if outcome is not None and table is not None
        ]
        trained_on = home_of(self.benchmark.name, [outcome for outcome, _ in finished_parts])
        runs = (Run.of(outcome, table.to_table(), self.asked, trained_on) for outcome, table in finished_parts)
        return [run for run in runs if run is not None]


def breakdown_table(about: StudyParameters, material: Material, runs: Sequence[Run]) -> pa.Table:
    """The metrics of each variant in groups of questions, as `coattend.schemas.BREAKDOWNS`."""
    # Variants with the same task and tags share their questions and the parts of speech of the answers.
    alike: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        alike.setdefault((run.task, material.read[run.variant]), []).append(run)
    rows = [
        {"benchmark": material.benchmark.name, "title": about.variants[row["variant"]].title} | row
        for (task, tagging), runs_alike in alike.items()
        for row in breakdown_rows(task, runs_alike, material.with_pos(runs_alike[0].questions, tagging), material.texts)
    ]
    # The rows follow the study's file, whatever order the grouping gave them.
    order = {variant: position for position, variant in enumerate(about.variants)}
    return pa.Table.from_pylist(sorted(rows, key=lambda row: order[row["variant"]]), BREAKDOWNS)


def analyse(about: StudyParameters, material: Material, runs: Sequence[Run]) -> dict[str, Any]:
    """Run the analyses that a study lists under ``shows``; add ``calibration`` and, as ``scored``, the
    share of the benchmark's questions that is asked."""
    findings = {name: _ANALYSES[name](about, material, runs) for name in about.shows if name in _ANALYSES}
    calibration = {run.variant: calibration_of(run) for run in runs}
    return findings | {"calibration": calibration, "scored": material.benchmark.scored}


def _ensembles(about: StudyParameters, material: Material, runs: Sequence[Run]) -> dict[str, Any]:
    return {run.variant: list(ensemble_rows(run)) for run in runs}


def _boundaries(
    about: StudyParameters, material: Material, runs: Sequence[Run]
) -> dict[str, dict[str, dict[str, float]]]:
    return {
        run.variant: boundary_counts(run, material.texts, Tagging(*material.tags[material.read[run.variant]]))
        for run in runs
    }


def _examples(about: StudyParameters, material: Material, runs: Sequence[Run]) -> list[dict[str, Any]]:
    requested = [example for example in about.examples if example.benchmark == material.benchmark.name]
    rows = ((example.question, example_of(example, material.asked, runs)) for example in requested)
    return [example or {"question": question, "missing": True} for question, example in rows]


def _reranked(about: StudyParameters, material: Material, runs: Sequence[Run]) -> dict[str, Any]:
    from coattend.evaluation.reranking.rerank import rerank

    changes = {}
    for run in runs:
        # Re-ranking starts from scores of candidates, which not every reader of words keeps.
        if run.task != "word" or run.predictions["scores"].null_count:
            continue
        tags, _ = material.tags[material.read[run.variant]]
        tables = (run.predictions, material.asked.filter(pc.equal(material.asked["task"].cast(pa.string()), "word")))
        _, changes[run.variant] = rerank(
            *tables, material.passages, tags, head=run.head, trials=run.seed_of, parameters=material.benchmark.reranking
        )
    return changes


_ANALYSES: dict[str, Callable[[StudyParameters, Material, Sequence[Run]], Any]] = {
    "ensemble": _ensembles,
    "boundary_pos": _boundaries,
    "predictions": _examples,
    "reranking": _reranked,
}
