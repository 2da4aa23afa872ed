"""What a study will cost, how small a difference it can show, and what of it fits into its budget."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from coattend.errors import CoattendError
from coattend.evaluation.groups import COLUMNS, scored_questions, subsets
from coattend.evaluation.runs import asked_groups, shared_subsets
from coattend.evaluation.variants import expected_resolution
from coattend.parameters import StudyParameters
from coattend.training.costs import cost_of
from coattend.training.plan import Plan

logger = logging.getLogger(__name__)


def estimate(
    about: StudyParameters, plans: Mapping[tuple[str, str], tuple[Plan, Plan]], store: Path, *, hours: float | None
) -> dict[str, Any]:
    """Estimate a study, tell it, and name what its budget leaves out.

    Args:
        about: The study.
        plans: Benchmark and variant to how it is trained and how it is asked.
        store: The folder of all trials.
        hours: Its budget; None: it has none.

    Returns:
        ``costs``: trials and seconds by benchmark and variant; ``questions``: by benchmark and split those that are
        scored, where all variants are trained on one subset, of that subset; ``resolves``: by benchmark the smallest
        difference in points that its smallest split can show, None without any; ``left_out``: variants that are not
        trained.

    Raises:
        CoattendError: If two variants answer different questions of a benchmark.
    """
    _check_tasks(about, plans)
    costs: dict[str, dict[str, Any]] = {}
    counted = set()
    for (benchmark, name), (trained, asked) in plans.items():
        begun = about.variants[name].change.get("training", {}).get("start_from") is not None
        known = (name, trained.benchmark) in counted
        counted.add((name, trained.benchmark))
        how = {"asked": asked, "search": about.search, "begun": begun, "counted": known}
        costs.setdefault(benchmark, {})[name] = vars(cost_of(trained, store, **how))
    questions = {
        benchmark: _to_score(about, benchmark, [both for (own, _), both in plans.items() if own == benchmark])
        for benchmark in costs
    }
    resolves = {name: expected_resolution(min(counts.values(), default=0)) for name, counts in questions.items()}
    left_out = _over_budget(about, costs, hours)
    found = {"costs": costs, "questions": questions, "resolves": resolves, "left_out": left_out}
    _tell(about, found)
    return found


def _to_score(about: StudyParameters, benchmark: str, plans: Sequence[tuple[Plan, Plan]]) -> dict[str, int]:
    """Questions that a table asks about, by split and, where it asks about several, by subset: each a comparison."""
    _, asked = plans[0]
    scored, _ = scored_questions(asked.source.questions.to_table(columns=COLUMNS), asked.source.task)
    home = shared_subsets(benchmark, (trained.training.train_on for trained, _ in plans))
    names = asked_groups(about.asks.get(benchmark, ()), home)
    found = {}
    for group, inside in subsets(scored).items():
        if group in names:
            counts = pc.value_counts(scored.filter(pa.array(inside))["split"].cast(pa.string())).to_pylist()
            more = f", {group}" if len(names) > 1 else ""
            found |= {f"{one['values']}{more}": one["counts"] for one in counts}
    return dict(sorted(found.items()))


def _check_tasks(about: StudyParameters, plans: Mapping[tuple[str, str], tuple[Plan, Plan]]) -> None:
    """What a benchmark's questions ask for decides which head a reader takes, where a study does not say which."""
    first: dict[str, tuple[str, str]] = {}
    for (benchmark, name), (_, asked) in plans.items():
        task = asked.source.task
        other, others = first.setdefault(benchmark, (name, task))
        if task != others:
            raise CoattendError(
                f"{name!r} answers {task} on {benchmark}, and {other!r} {others}",
                where=f"study {about.name}",
                cure="Name heads that answer the same questions, or make two studies of it",
            )


def _over_budget(about: StudyParameters, costs: Mapping[str, Mapping[str, Any]], hours: float | None) -> list[str]:
    """Variants from the last one back, never a baseline, until what is left fits."""
    left_out: list[str] = []
    if hours is None:
        return left_out
    needed = {about.baseline_of(name) for name in about.variants}
    for name in reversed([name for name in about.variants if name not in needed]):
        if _seconds(costs, left_out) <= 3600 * hours:
            break
        left_out.append(name)
    rest = _seconds(costs, left_out) / 3600
    if rest > hours:
        told = "%s: baselines alone take about %.1f hours, more than its budget of %g, and are trained all the same"
        logger.warning(told, about.name, rest, hours)
    return left_out


def _seconds(costs: Mapping[str, Mapping[str, Any]], left_out: list[str]) -> float:
    return sum(one["seconds"] for by_name in costs.values() for name, one in by_name.items() if name not in left_out)


def _tell(about: StudyParameters, found: Mapping[str, Any]) -> None:
    costs, left_out = found["costs"], found["left_out"]
    kept = [one for by_name in costs.values() for name, one in by_name.items() if name not in left_out]
    trials = sum(one["trials"] for one in kept)
    hours = _seconds(costs, left_out) / 3600
    logger.info(
        "%s: %d trials to train, about %.1f hours of this machine, one after the other", about.name, trials, hours
    )
    for benchmark, counts in found["questions"].items():
        if not counts:
            logger.warning("%s: there is no question to score: no answer is known outside of training", benchmark)
        for split, count in counts.items():
            told = "%s, %s: %s questions to score; they can show differences of %.1f points"
            logger.info(told, benchmark, split, f"{count:,}", expected_resolution(count))
    if left_out:
        logger.warning("%s: its budget leaves out %s", about.name, ", ".join(left_out))
