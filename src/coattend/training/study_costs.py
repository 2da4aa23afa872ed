"""What a study will cost, how small a difference it can show, and what of it fits into its budget."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from coattend.evaluation.groups import COLUMNS, scored_questions
from coattend.evaluation.variants import expected_resolution
from coattend.parameters import (
    BenchmarkParameters,
    EncoderParameters,
    ReaderParameters,
    StudyParameters,
    StudySettings,
    TokenizerParameters,
)
from coattend.readers import encoder_of
from coattend.training.costs import cost_of
from coattend.training.plans import plan_of

logger = logging.getLogger(__name__)


def prepare(
    about: StudyParameters,
    settings: StudySettings,
    variants: Mapping[str, ReaderParameters],
    encoders: Mapping[str, EncoderParameters],
    tokenizers: Mapping[str, TokenizerParameters],
    store: Path,
    tables: Mapping[str, Any],
) -> dict[str, Any]:
    """Estimate a study, tell it, and name what its budget leaves out.

    Args:
        about: The study.
        settings: What all studies share.
        variants: Its variants as readers' entries.
        encoders: All encoders.
        tokenizers: All tokenizer profiles.
        store: The folder of all trials.
        tables: Tables and parameters of its benchmarks, as ``<benchmark>.<table>``.

    Returns:
        ``costs``: trials and seconds by benchmark and variant; ``questions``: scored ones by benchmark; ``resolves``:
        the smallest difference in points that these can show; ``left_out``: variants that are not trained.
    """
    costs: dict[str, dict[str, Any]] = {}
    questions: dict[str, int] = {}
    for benchmark in about.benchmarks:
        for name, entry in variants.items():
            if benchmark not in about.benchmarks_of(name):
                continue
            given = {part: tables[f"{benchmark}.{part}"] for part in ("questions", "passages", "benchmark")}
            tokenizer = encoders[entry.encoder].tokenizer
            words = encoder_of(entry.reader) == "recurrent"
            plan = plan_of(
                given["questions"],
                given["passages"],
                tables[f"{benchmark}.{entry.tagging}.{tokenizer}.tokens"],
                tables[f"{benchmark}.{entry.tagging}.tags"] if words else None,
                BenchmarkParameters.model_validate(given["benchmark"]),
                entry.with_seeds(settings.seeds),
                encoders[entry.encoder],
                tokenizers[tokenizer],
            )
            costs.setdefault(benchmark, {})[name] = vars(cost_of(plan, store))
            asked, _ = scored_questions(given["questions"].to_table(columns=COLUMNS), plan.source.task)
            questions[benchmark] = len(asked)
    resolves = {benchmark: expected_resolution(count) for benchmark, count in questions.items()}
    left_out = _over_budget(about, costs, about.budget_hours or settings.budget_hours)
    found = {"costs": costs, "questions": questions, "resolves": resolves, "left_out": left_out}
    _tell(about, found)
    return found


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
    return left_out


def _seconds(costs: Mapping[str, Mapping[str, Any]], left_out: list[str]) -> float:
    return sum(one["seconds"] for by_name in costs.values() for name, one in by_name.items() if name not in left_out)


def _tell(about: StudyParameters, found: Mapping[str, Any]) -> None:
    costs, left_out = found["costs"], found["left_out"]
    trials = sum(one["trials"] for by_name in costs.values() for one in by_name.values())
    hours = _seconds(costs, left_out) / 3600
    logger.info(
        "%s: %d trials to train, about %.1f hours of this machine, one after the other", about.name, trials, hours
    )
    for benchmark, count in found["questions"].items():
        shown = found["resolves"][benchmark]
        logger.info(
            "%s: %s questions to score; they can show differences of %.1f points", benchmark, f"{count:,}", shown
        )
    if left_out:
        logger.warning("%s: its budget leaves out %s", about.name, ", ".join(left_out))
