"""What was recorded of a study before: it stays where it still holds, so that a study can be trained in parts, and on
several machines."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, cast

from coattend.errors import CoattendError
from coattend.evaluation.records import Analyses
from coattend.readers.source_code import code_digest
from coattend.reports.study.trial_records import FORMAT, QUESTIONS_FILE, STUDY_FILE, FileOfStudy, FileOfTrial

_OF_STUDY = ("protocol", "seeds", "search", "options", "base")
"""What decides how all variants of a study are trained."""
_OF_QUESTIONS = ("scored", "train_from_dev", "benchmark_version")
"""Analyses that say which questions of a benchmark are asked."""
_OF_TRAINING = ("epochs", "max_questions", "held_out")
"""How much is learned from, which an environment may set for a benchmark, not for a study."""


def with_earlier_records(records: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    """Add what was recorded before of variants that these records lack.

    A variant's records are kept if the study still trains it in the same way and asks it the same questions, and if the
    code of its reader still does the same.

    Args:
        records: Those that `study_records` has written.
        before: Those of the same study that `read_records` has read; empty if there are none.
    """
    old, new = cast("FileOfStudy | None", before.get(STUDY_FILE)), cast("FileOfStudy", dict(records[STUDY_FILE]))
    if old is None or old["format"] != FORMAT or any(old["study"].get(key) != new["study"][key] for key in _OF_STUDY):
        return dict(records)
    merged, order, benchmarks = dict(records), list(new["study"]["variants"]), new["study"]["benchmarks"]
    anew = {f"{benchmark}.{variant}" for benchmark, runs in new["outcomes"].items() for variant in runs}
    for benchmark in benchmarks:
        kept = [variant for variant in order if _holds(benchmark, variant, records, before)]
        if not kept:
            continue
        recorded = old["outcomes"][benchmark]
        outcomes = new["outcomes"].get(benchmark, {}) | {variant: recorded[variant] for variant in kept}
        analyses = _joined(new["analyses"].get(benchmark, {}), old["analyses"].get(benchmark, {}), kept, order)
        new["outcomes"] = new["outcomes"] | {benchmark: _in_order(outcomes, order)}
        new["analyses"] = new["analyses"] | {benchmark: cast("Analyses", analyses)}
        rows = [row for row in old["breakdowns"] if row["benchmark"] == benchmark and row["variant"] in kept]
        new["breakdowns"] = [*new["breakdowns"], *rows]
        new["left_out"] = [variant for variant in new["left_out"] if variant not in kept]
        for variant in kept:
            for trial_id in recorded[variant]["trials"]:
                merged[trial_id] = _united(merged.get(trial_id), before[trial_id], f"{benchmark}.{variant}", anew)
    # As a run writes them: a benchmark after the other, and of each its variants.
    new["breakdowns"] = sorted(
        new["breakdowns"], key=lambda row: (benchmarks.index(row["benchmark"]), order.index(row["variant"]))
    )
    return merged | {STUDY_FILE: new}


def _holds(benchmark: str, variant: str, records: Mapping[str, Any], before: Mapping[str, Any]) -> bool:
    """Tell whether earlier records of a variant are to be kept."""
    old, new = cast("FileOfStudy", before[STUDY_FILE]), cast("FileOfStudy", records[STUDY_FILE])
    recorded = old["outcomes"].get(benchmark, {}).get(variant)
    if recorded is None or variant in new["outcomes"].get(benchmark, {}):
        return False
    change = new["study"]["variants"][variant]["change"]
    questions = QUESTIONS_FILE.format(benchmark=benchmark)
    asked, asked_before = new["analyses"].get(benchmark, {}), old["analyses"].get(benchmark, {})
    trials = [cast("FileOfTrial | None", before.get(trial_id)) for trial_id in recorded["trials"]]
    others = [records[trial_id] for run in new["outcomes"].get(benchmark, {}).values() for trial_id in run["trials"]]
    changed = change.get("training", {})
    return (
        old["study"]["variants"][variant]["change"] == change
        and old["study"]["training"].get(benchmark) == new["study"]["training"].get(benchmark)
        and before.get(questions) == records[questions]
        and all(asked.get(name) in (None, asked_before.get(name)) for name in _OF_QUESTIONS)
        and bool(trials)
        and all(trial and _reads_the_same(trial) and _learns_as_much(trial, changed, others) for trial in trials)
    )


def _reads_the_same(trial: FileOfTrial) -> bool:
    """Tell whether the code of a trial's reader does what it did when the trial was trained."""
    configuration = trial["configuration"]
    try:
        return code_digest(configuration["reader"], configuration["head"]) == configuration["source"]
    except CoattendError:  # There is no such reader any more.
        return False


def _learns_as_much(trial: FileOfTrial, changed: Collection[str], others: Sequence[FileOfTrial]) -> bool:
    """Tell whether a trial learned from as much as others over its encoder, apart from what its variant changes."""
    configuration = trial["configuration"]
    alike = [
        other["configuration"]["training"]
        for other in others
        if other["configuration"].get("encoder") == configuration.get("encoder")
    ]
    own = configuration["training"]
    return not alike or all(
        name in changed or own.get(name) in [training.get(name) for training in alike] for name in _OF_TRAINING
    )


def _joined(
    new: Mapping[str, Any], old: Mapping[str, Any], kept: Collection[str], order: Sequence[str]
) -> dict[str, Any]:
    """Add kept variants to analyses by variant; of others those of now count, or else the earlier ones."""
    joined = dict(old) | dict(new)
    for name, by_variant in joined.items():
        if isinstance(by_variant, Mapping):
            earlier = {variant: value for variant, value in old.get(name, {}).items() if variant in kept}
            joined[name] = _in_order(new.get(name, {}) | earlier, order)
    return joined


def _in_order(by_variant: Mapping[str, Any], order: Sequence[str]) -> dict[str, Any]:
    return {variant: by_variant[variant] for variant in order if variant in by_variant}


def _united(new: FileOfTrial | None, old: FileOfTrial, kept: str, anew: Collection[str]) -> FileOfTrial:
    """Add what a trial answered before, on other benchmarks or for a kept variant, to what it has answered now.

    Args:
        new: The trial's record of now, if there is one.
        old: That of before.
        kept: The benchmark and the variant whose answers are kept, as in ``dream.plain``.
        anew: Those that have answered anew.
    """
    if new is None:
        return old
    scores = {key: value for key, value in old["scores"].items() if key not in anew} | new["scores"]
    answers = {key: value for key, value in old["answers"].items() if key not in anew} | new["answers"]
    benchmark = kept.partition(".")[0]
    own = kept if kept in old["answers"] else benchmark
    # Variants that share a trial may be scored unlike: what the others answer now are not this one's answers.
    if answers[benchmark] != old["answers"][own]:
        scores[kept], answers[kept] = old["scores"][own], old["answers"][own]
    return {**new, "scores": scores, "answers": answers}
