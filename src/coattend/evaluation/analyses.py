"""What a study shows beside its scores: where a variant does better, and what its trials know together."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads

from coattend.evaluation import boundaries, breakdowns, confidence, ensembles, groups, scoring, squad
from coattend.evaluation.intervals import Interval, interval, intervals
from coattend.evaluation.runs import Run
from coattend.evaluation.scoring import METRICS, marks
from coattend.parameters.study import ExampleParameters


class Tagging(NamedTuple):
    """Parts of speech of a benchmark's texts.

    Attributes:
        tags: The tags table.
        names: The tags by their ids.
    """

    tags: pads.Dataset
    names: Sequence[str]


def breakdown_rows(
    task: str, runs: Sequence[Run], asked: pa.Table, passages: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    """Metrics in groups of questions, for each split and breakdown that says something.

    Args:
        task: What is answered.
        runs: The variants that were asked these questions.
        asked: The questions, with the columns `breakdowns.COLUMNS` and `breakdowns.POS`.
        passages: Text by passage id.

    Yields:
        ``variant``, ``split``, ``breakdown``, ``group``, ``questions``, ``metric``, ``mean``, ``low`` and ``high`` in
        percent.
    """
    numbers, answered = groups.passage_numbers(asked), {run.variant: _answered(run) for run in runs}
    for breakdown, divide in breakdowns.BREAKDOWNS.items():
        if breakdown == "by_answer_frequency" and task != "word":
            continue
        divided = divide(asked, passages)
        for split, rows in groups.members(asked["split"]).items():
            scored = [(run, metric) for run in runs if split in answered[run.variant] for metric in METRICS[task]]
            for group, inside in groups.within(rows, divided):
                place = {"split": split, "breakdown": breakdown, "group": group, "questions": int(inside.sum())}
                values = [marks(run.marks, metric)[:, inside] for run, metric in scored]
                for (run, metric), found in zip(scored, intervals(values, numbers[inside]), strict=True):
                    yield {"variant": run.variant} | place | {"metric": metric} | _percent(found)


def ensemble_rows(run: Run) -> Iterator[dict[str, Any]]:
    """A variant's trials together, for each split and subset; the greedy choice is made on dev, where there is one."""
    numbers, splits = groups.passage_numbers(run.asked), _answered(run)
    held_out = [one["held_out"] or 0.0 for one in run.trials]
    for found in ensembles.ensembles(_joint(run), held_out, splits.get("dev")):
        about = {"how": found.how, "seeds": [run.seeds[place] for place in found.trials]}
        for split, rows in splits.items():
            for group, inside in groups.within(rows, groups.subsets(run.asked, run.group)):
                for metric in METRICS[run.task]:
                    place = {"split": split, "group": group, "metric": metric, "questions": int(inside.sum())}
                    yield about | place | _percent(interval(marks(found, metric)[None, inside], numbers[inside]))


def calibration_of(run: Run) -> dict[str, dict[str, Any]]:
    """How sure a variant's trials are of what they answer.

    Returns:
        Split to ``group``, the name of its questions; ``accuracy`` in percent; ``answerability_auroc`` in percent, None
        where all questions have an answer; and where its scores say how sure it is, what
        `coattend.evaluation.confidence.calibrate` has.
    """
    sure = confidence.calibrate(run.predictions, run.asked, task=run.task, head=run.head, trials=run.seed_of)
    answerable = run.asked["answerable"].to_numpy()
    return {
        split: {
            "group": run.group,
            "accuracy": 100 * float(run.marks.correct[:, rows].mean()),
            "answerability_auroc": scoring.answerability(run.marks.of(rows), answerable[rows]),
        }
        | sure.get(split, {})
        for split, rows in _answered(run).items()
    }


def boundary_counts(run: Run, passages: Mapping[str, str], tagging: Tagging) -> dict[str, dict[str, float]]:
    """How often each tag is that of a boundary word, as a mean over trials.

    Returns:
        ``gold``, ``predicted`` and ``wrong``: tag to count, as `coattend.evaluation.boundaries.boundary_tags` says.
    """
    wanted = set(run.asked["passage_id"].to_pylist())
    words = boundaries.tagged({name: passages[name] for name in wanted}, *tagging)
    counted = [
        boundaries.boundary_tags(
            run.predictions.filter(pc.equal(run.predictions["trial_id"], trial)).select(boundaries.COLUMNS),
            run.asked,
            words,
        )
        for trial in run.ids
    ]
    return {
        kind: {tag: sum(one[kind][tag] for one in counted) / len(counted) for tag in _tags(counted, kind)}
        for kind in counted[0]
    }


def example_of(example: ExampleParameters, questions: pa.Table, runs: Sequence[Run]) -> dict[str, Any] | None:
    """What every variant answers to one question; None where the benchmark does not have it.

    Args:
        example: The question, by its id or its text.
        questions: The benchmark's questions, with the columns `coattend.evaluation.breakdowns.COLUMNS`.
        runs: The variants.
    """
    questions = questions.filter(pc.not_equal(questions["split"].cast(pa.string()), groups.TRAINING_SPLIT))
    named = pc.or_(
        pc.equal(questions["question_id"], example.question), pc.equal(questions["question"], example.question)
    )
    rows = questions.filter(named).slice(0, 1)
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


def _answers_to(run: Run, question_id: str) -> dict[str, Any]:
    """Seed to answer and whether it is right; without those that did not answer."""
    mine = run.predictions.filter(pc.equal(run.predictions["question_id"], question_id))
    rows = mine.select(["seed", "prediction", "correct"]).to_pylist()
    return {str(row["seed"]): {"answer": row["prediction"], "right": row["correct"]} for row in rows}


def _answered(run: Run) -> dict[str, np.ndarray]:
    """The splits that a trial answered at all, as masks [questions]."""
    splits = groups.members(run.asked["split"])
    return {name: rows for name, rows in splits.items() if not run.marks.of(rows).missing.all()}


def _joint(run: Run) -> ensembles.Joint:
    if run.task == "span" or run.predictions["scores"].null_count:
        return ensembles.by_vote(run.texts(), run.marks, alike=squad.normalise if run.task == "span" else str)
    ids = run.asked["question_id"].to_pylist()
    return ensembles.by_probability(
        ensembles.of_options(run.predictions, ids, run.ids, run.head), run.asked["label"].to_numpy()
    )


def _percent(found: Interval) -> dict[str, float | None]:
    return {name: None if end is None else 100 * end for name, end in vars(found).items()}


def _tags(counted: Sequence[Mapping[str, Mapping[str, int]]], kind: str) -> list[str]:
    """The tags of all counts, the most frequent first."""
    totals: dict[str, int] = {}
    for one in counted:
        for tag, count in one[kind].items():
            totals[tag] = totals.get(tag, 0) + count
    return sorted(totals, key=lambda tag: (-totals[tag], tag))
