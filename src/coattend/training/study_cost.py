"""Estimate the cost of a study and the smallest difference that it can show, and fit it into its budget."""

import logging
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from coattend.config import StudyParameters
from coattend.errors import CoattendError
from coattend.evaluation.comparison import expected_resolution
from coattend.evaluation.groups import COLUMNS, scored_questions, subsets
from coattend.evaluation.runs import asked_groups, shared_subsets
from coattend.training.cost import cost_of
from coattend.trials.experiment import Experiment

logger = logging.getLogger(__name__)

ExperimentPair = tuple[Experiment, Experiment]
"""An experiment to train and the one to evaluate, which differ if other benchmarks are trained on."""


def estimate(
    study: StudyParameters,
    experiments: Mapping[tuple[str, str], ExperimentPair],
    store: Path,
    *,
    hours: float | None,
) -> dict[str, Any]:
    """Estimate the cost of a study, log it, and choose the variants that its budget leaves out.

    Args:
        study: The study.
        experiments: Benchmark and variant to the experiments to train and to evaluate.
        store: The folder of all trials.
        hours: The budget; None: no limit.

    Returns:
        ``costs``: trials and seconds by benchmark and variant; ``questions``: scored questions by benchmark and split,
        and if all variants are trained on one subset, of that subset; ``resolves``: by benchmark the smallest
        difference in points that its smallest split can show, None without questions; ``left_out``: variants that are
        not trained.

    Raises:
        CoattendError: If two variants answer different questions of a benchmark.
    """
    _check_tasks(study, experiments)
    costs: dict[str, dict[str, Any]] = {}
    # A variant that is evaluated on several benchmarks but trained on one is trained once.
    counted: set[tuple[str, str]] = set()
    for (benchmark, variant), (trained, evaluated) in experiments.items():
        cost = cost_of(
            trained,
            store,
            evaluated=evaluated,
            search=study.search,
            awaits_parents=study.variants[variant].change.get("training", {}).get("start_from") is not None,
            counted=(variant, trained.benchmark) in counted,
        )
        counted.add((variant, trained.benchmark))
        costs.setdefault(benchmark, {})[variant] = vars(cost)
    questions = {}
    for benchmark in costs:
        pairs = [pair for (name, _), pair in experiments.items() if name == benchmark]
        questions[benchmark] = _scored_question_counts(study, benchmark, pairs)
    estimates = {
        "costs": costs,
        "questions": questions,
        "resolves": {name: expected_resolution(min(counts.values(), default=0)) for name, counts in questions.items()},
        "left_out": _over_budget(study, costs, hours),
    }
    _log(study, estimates)
    return estimates


def _scored_question_counts(
    study: StudyParameters, benchmark: str, experiments: Sequence[ExperimentPair]
) -> dict[str, int]:
    """Count the questions of each comparison, by split and, if the study compares several, by subset."""
    _, evaluated = experiments[0]
    scored, _ = scored_questions(evaluated.source.questions.to_table(columns=COLUMNS), evaluated.source.task)
    home = shared_subsets(benchmark, (trained.training.train_on for trained, _ in experiments))
    groups = asked_groups(study.asks.get(benchmark, ()), home)
    counts = {}
    for group, is_member in subsets(scored).items():
        if group in groups:
            by_split = pc.value_counts(scored.filter(pa.array(is_member))["split"].cast(pa.string())).to_pylist()
            suffix = f", {group}" if len(groups) > 1 else ""
            counts |= {f"{entry['values']}{suffix}": entry["counts"] for entry in by_split}
    return dict(sorted(counts.items()))


def _check_tasks(study: StudyParameters, experiments: Mapping[tuple[str, str], ExperimentPair]) -> None:
    """Raise if variants answer different tasks: without a head in the study, a benchmark's questions decide it."""
    first: dict[str, tuple[str, str]] = {}
    for (benchmark, variant), (_, evaluated) in experiments.items():
        task = evaluated.source.task
        first_variant, first_task = first.setdefault(benchmark, (variant, task))
        if task != first_task:
            raise CoattendError(
                f"{variant!r} answers {task} on {benchmark}, and {first_variant!r} {first_task}",
                where=f"study {study.name}",
                cure="Name heads that answer the same questions, or make two studies of it",
            )


def _over_budget(study: StudyParameters, costs: Mapping[str, Mapping[str, Any]], hours: float | None) -> list[str]:
    """Leave out variants from the last one back, never a baseline, until the rest fits the budget."""
    left_out: list[str] = []
    if hours is None:
        return left_out
    baselines = {study.baseline_of(variant) for variant in study.variants}
    for variant in reversed([variant for variant in study.variants if variant not in baselines]):
        if _seconds(costs, left_out) <= 3600 * hours:
            break
        left_out.append(variant)
    # Every comparison needs its baseline, so baselines are trained beyond the budget.
    remaining_hours = _seconds(costs, left_out) / 3600
    if remaining_hours > hours:
        logger.warning(
            "%s: baselines alone take about %.1f hours, more than its budget of %g, and are trained all the same",
            study.name,
            remaining_hours,
            hours,
        )
    return left_out


def _included(costs: Mapping[str, Mapping[str, Any]], left_out: Collection[str]) -> list[Mapping[str, Any]]:
    return [cost for by_variant in costs.values() for name, cost in by_variant.items() if name not in left_out]


def _seconds(costs: Mapping[str, Mapping[str, Any]], left_out: Collection[str]) -> float:
    return sum(cost["seconds"] for cost in _included(costs, left_out))


def _log(study: StudyParameters, estimates: Mapping[str, Any]) -> None:
    costs, left_out = estimates["costs"], estimates["left_out"]
    trials = sum(cost["trials"] for cost in _included(costs, left_out))
    logger.info(
        "%s: %d trials to train, about %.1f hours of this machine, one after the other",
        study.name,
        trials,
        _seconds(costs, left_out) / 3600,
    )
    for benchmark, counts in estimates["questions"].items():
        if not counts:
            logger.warning("%s: there is no question to score: no answer is known outside of training", benchmark)
        for split, count in counts.items():
            logger.info(
                "%s, %s: %s questions to score; they can show differences of %.1f points",
                benchmark,
                split,
                f"{count:,}",
                expected_resolution(count),
            )
    if left_out:
        logger.warning("%s: its budget leaves out %s", study.name, ", ".join(left_out))
