"""A study's table: each variant's scores, how they differ from the baseline's, and what the paper printed."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.dataset as pads

from coattend.config import StudyParameters
from coattend.evaluation import alignment, comparison, groups, summary
from coattend.evaluation.records import TrialRecord, VariantOutcome, score_of
from coattend.evaluation.runs import Run, asked_groups, home_of, selection_of
from coattend.evaluation.summary import METRICS
from coattend.reports.comparison import tested_estimate
from coattend.reports.records import BaselineDifference, StudyFindings, StudyRow, TrialFailure
from coattend.reports.study.paper_numbers import ScoreKey, printed_columns, printed_scores
from coattend.schemas import STUDY_ROWS

ALPHA = 0.05
"""A difference with a smaller p value is clear."""

FEWEST_QUESTIONS = 50
"""With fewer questions than that a difference is no finding, whatever its p value."""

_NOT_COMPARED: BaselineDifference = {
    "difference": None,
    "difference_low": None,
    "difference_high": None,
    "p": None,
    "resolves": None,
    "over_seeds": None,
}


class VariantRun(NamedTuple):
    """The outcome and the answers of a variant on one benchmark."""

    outcome: VariantOutcome
    answers: pads.Dataset


def study_findings(study: StudyParameters, parts: Mapping[str, Any]) -> StudyFindings:
    """Collect all that is known of a study.

    Parts are, for each benchmark, ``<benchmark>.questions``, ``<benchmark>.breakdowns`` and ``<benchmark>.analyses``,
    and for each of its variants ``<benchmark>.<variant>.outcome`` and ``.answers``; None if it was not run.
    """
    rows: list[StudyRow] = []
    runs = {benchmark: _runs(study, parts, benchmark) for benchmark in study.benchmarks}
    for benchmark, by_variant in runs.items():
        rows += _score_rows(study, benchmark, parts[f"{benchmark}.questions"], by_variant)
    homes = {name: home_of(name, [run.outcome for run in by_variant.values()]) for name, by_variant in runs.items()}
    simulated = {name for name in study.benchmarks if parts[f"{name}.analyses"].get("simulated")}
    for row in rows:
        if row["difference"] is not None and (reason := _no_finding(row, row["benchmark"] in simulated)):
            row["verdict"] = reason
    _add_verdicts(rows, select_rows(rows, study.asks, homes), study.metric)

    trials = {
        benchmark: {variant: run.outcome["trials"] for variant, run in by_variant.items()}
        for benchmark, by_variant in runs.items()
    }
    failures: list[TrialFailure] = [
        {"benchmark": benchmark, "variant": variant, "seed": trial["seed"], "failure": failure}
        for benchmark, by_variant in trials.items()
        for variant, of_variant in by_variant.items()
        for trial in of_variant
        if (failure := trial.get("failure"))
    ]
    # A study without trials names the seeds that it would run.
    seeds = {trial["seed"] for by_variant in trials.values() for records in by_variant.values() for trial in records}
    measured = {
        "rows": rows,
        "trials": trials,
        "trained_on": {
            benchmark: {
                variant: training_benchmark
                for variant, run in by_variant.items()
                if (training_benchmark := run.outcome.get("trained_on", benchmark)) != benchmark
            }
            for benchmark, by_variant in runs.items()
        },
        "searches": {
            benchmark: {name: run.outcome["search"] for name, run in by_variant.items() if "search" in run.outcome}
            for benchmark, by_variant in runs.items()
        },
        "failures": failures,
        "homes": {benchmark: list(subsets) for benchmark, subsets in homes.items()},
        "seeds": sorted(seeds) or list(study.seeds),
        "analyses": {benchmark: parts[f"{benchmark}.analyses"] for benchmark in study.benchmarks},
        "breakdowns": [
            row for benchmark in study.benchmarks for row in parts[f"{benchmark}.breakdowns"].to_table().to_pylist()
        ],
    }
    findings: StudyFindings = study.model_dump(mode="json") | measured  # type: ignore[assignment]
    return findings


def title_of(findings: StudyFindings, variant: str) -> str:
    """Return the title of a variant."""
    return findings["variants"][variant]["title"]


def baseline_of(findings: StudyFindings, variant: str) -> str:
    """Name the variant that one is compared with."""
    return findings["variants"][variant].get("against") or findings["baseline"]


def arrow_table(findings: StudyFindings) -> pa.Table:
    """Write the rows as a table of the schema `STUDY_ROWS`."""
    flat = [{**row, **printed_columns(row["printed"])} for row in findings["rows"]]
    return pa.Table.from_pylist([{name: row[name] for name in STUDY_ROWS.names} for row in flat], STUDY_ROWS)


def rows_in_question(findings: StudyFindings) -> list[StudyRow]:
    """Select the rows of the groups of questions that a study asks about."""
    # Findings of earlier versions do not say what the study asks about.
    return select_rows(findings["rows"], findings.get("asks", {}), findings["homes"])


def select_rows(
    rows: Sequence[StudyRow], asks: Mapping[str, Sequence[str]], homes: Mapping[str, Sequence[str]]
) -> list[StudyRow]:
    """The same, by benchmark to the subsets that a study names, and to those that all variants were trained on."""
    return [
        row for row in rows if row["group"] in asked_groups(asks.get(row["benchmark"], ()), homes[row["benchmark"]])
    ]


def trials_by_training_benchmark(findings: StudyFindings) -> dict[str, dict[str, list[TrialRecord]]]:
    """Select the trials that were trained on the benchmark that they are listed under, by benchmark and variant."""
    return {
        benchmark: {
            variant: trials
            for variant, trials in by_variant.items()
            if variant not in findings["trained_on"].get(benchmark, {})
        }
        for benchmark, by_variant in findings["trials"].items()
    }


def _runs(study: StudyParameters, parts: Mapping[str, Any], benchmark: str) -> dict[str, VariantRun]:
    """Select the variants that were run on a benchmark."""
    runs = {}
    for variant in study.variants:
        outcome, answers = (parts.get(f"{benchmark}.{variant}.{part}") for part in ("outcome", "answers"))
        if outcome is not None and answers is not None:
            runs[variant] = VariantRun(outcome, answers)
    return runs


def _score_rows(
    study: StudyParameters, benchmark: str, questions: pads.Dataset, variant_runs: Mapping[str, VariantRun]
) -> list[StudyRow]:
    """Score every variant in each split, subset and metric."""
    table = questions.to_table(columns=groups.COLUMNS)
    # A variant without a finished trial or a scored question has no run.
    candidates = {variant: Run.of(run.outcome, run.answers.to_table(), table) for variant, run in variant_runs.items()}
    runs = {variant: run for variant, run in candidates.items() if run is not None}
    printed = printed_scores(study.model_dump(mode="json")["printed"], study.benchmarks)
    rows: list[StudyRow] = []
    for variant, run in runs.items():
        scores = summary.summarise(run.predictions, table, task=run.task, trials=run.seed_of)
        splits, baseline = groups.members(run.questions["split"]), study.baseline_of(variant)
        encoder = variant_runs[variant].outcome.get("encoder")
        for split, by_group in scores["splits"].items():
            for group, inside in groups.within(splits[split], groups.subsets(run.questions)):
                for metric in METRICS[run.task]:
                    row: StudyRow = {
                        "benchmark": benchmark,
                        "split": split,
                        "group": group,
                        "metric": metric,
                        "variant": variant,
                        "title": study.variants[variant].title,
                        "encoder": encoder,
                        "baseline": None if variant == baseline else baseline,
                        "questions": int(inside.sum()),
                        "trials": len(run.trials),
                        "selection": selection_of(
                            run.trials, benchmark, variant_runs[variant].outcome.get("trained_on", benchmark)
                        ),
                        **score_of(by_group[group], metric),
                        **_NOT_COMPARED,
                        "by_seed": [],
                        "printed": printed.get(ScoreKey(variant, benchmark, split, group, metric), []),
                        "p_corrected": None,
                        "verdict": None,
                    }
                    rows.append(row)
    _add_differences(rows, runs)
    return rows


def _add_differences(rows: Sequence[StudyRow], runs: Mapping[str, Run]) -> None:
    """Compare each row with its baseline; rows of the same questions share the subsets of their groups."""
    answers = {variant: run.marks_by_seed() for variant, run in runs.items()}
    # Rows are grouped by the questions that they are about.
    rows_by_questions: dict[tuple[str, str], list[StudyRow]] = {}
    for row in rows:
        if row["baseline"] is not None and answers.get(row["baseline"]):
            rows_by_questions.setdefault((row["split"], row["group"]), []).append(row)
    for (split, group), comparable in rows_by_questions.items():
        questions = runs[comparable[0]["variant"]].questions
        inside = groups.members(questions["split"])[split] & groups.subsets(questions)[group]
        pairs = [
            comparison.Pair(
                _scores_by_seed(answers[row["variant"]], row["metric"], inside),
                _scores_by_seed(answers[row["baseline"] or ""], row["metric"], inside),
                graded=row["metric"] == "f1",
            )
            for row in comparable
        ]
        compared = comparison.compare(pairs, groups.group_numbers(questions)[inside])
        for row, result in zip(comparable, compared, strict=True):
            difference = result.difference
            row["difference"], row["p"] = difference.mean, difference.p
            row["difference_low"], row["difference_high"] = difference.low, difference.high
            row["resolves"], row["over_seeds"] = result.resolves, result.over_seeds
            row["by_seed"] = [
                {"seed": seed.seed, **tested_estimate(seed.difference), "mcnemar_p": seed.mcnemar_p}
                for seed in result.by_seed
            ]


def _scores_by_seed(answers: Mapping[int, alignment.Answers], metric: str, inside: np.ndarray) -> dict[int, np.ndarray]:
    return {seed: summary.marks(answer, metric)[0, inside] for seed, answer in answers.items()}


def _add_verdicts(rows: list[StudyRow], in_question: Sequence[StudyRow], metric: str | None) -> None:
    """Correct p values for the number of comparisons, and say what each difference amounts to that may be a finding.

    A study asks one question of each variant, benchmark, split and group of questions that it names, by its own metric
    where the benchmark is scored by it, else by the task's. Other rows are reported without a corrected p value.
    """
    # The study's own metric takes the place of the task's.
    scored_by_metric = {row["benchmark"] for row in rows if row["metric"] == metric}
    tested = [
        row
        for row in in_question
        if row["metric"] in ((metric,) if row["benchmark"] in scored_by_metric else ("accuracy", "f1"))
        and not row.get("verdict")
    ]
    for row, p in zip(tested, comparison.corrected([row["p"] for row in tested]), strict=True):
        row["p_corrected"] = p
    comparisons = sum(row["p"] is not None for row in tested)
    for row in rows:
        if row["difference"] is not None and not row.get("verdict"):
            row["verdict"] = _verdict(row, comparisons)


def _no_finding(row: StudyRow, simulated: bool) -> str:
    """Say why a difference is no finding about readers; empty if it may be one."""
    if simulated:
        return "no finding: the texts are generated"
    return f"no finding: fewer than {FEWEST_QUESTIONS} questions" if row["questions"] < FEWEST_QUESTIONS else ""


def _verdict(row: StudyRow, comparisons: int) -> str:
    if row["p"] is None:
        return "one group of questions says nothing of others"
    if row["p"] >= ALPHA:
        # Without an interval that has a width nothing tells what could have been found.
        if not row["resolves"]:
            return "cannot be told at these sizes"
        resolved = f"{row['questions']:,} questions resolve differences above {_points(row['resolves'])} points"
        return f"not distinguishable at these sizes: {resolved}"
    # A test that does not cover other seeds speaks of these seeds alone.
    better = row["difference"] is not None and row["difference"] > 0
    verdict = f"{'better' if better else 'worse'}{'' if row['over_seeds'] else ', with these seeds'}"
    p_corrected = row.get("p_corrected")
    if p_corrected is None:
        return f"{verdict}, not corrected"
    if p_corrected >= ALPHA:
        return f"{verdict}, before a correction for {comparisons} comparisons"
    return verdict


def _points(difference: float) -> str:
    """Format points so that a small difference is not rounded to none."""
    return f"{difference:.1f}" if difference >= 0.1 else f"{difference:.1g}"
