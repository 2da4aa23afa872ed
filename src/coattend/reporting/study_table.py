"""A study's table as data: what was measured, how it differs from the baseline, and what the paper printed."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as pads

from coattend.evaluation import answers, groups, scoring, variants
from coattend.evaluation.runs import Run, asked_groups, home_of
from coattend.evaluation.scoring import METRICS
from coattend.parameters import StudyParameters
from coattend.reporting import study_printed
from coattend.tables import STUDY_ROWS

ALPHA = 0.05
"""A difference with a smaller p value is clear."""

_NO_DIFFERENCE: dict[str, Any] = {
    **dict.fromkeys(("difference", "difference_low", "difference_high", "p", "resolves", "over_seeds")),
    "by_seed": [],
}


def results_of(about: StudyParameters, parts: Mapping[str, Any]) -> dict[str, Any]:
    """All that is known of a study.

    Args:
        about: What it asks.
        parts: For each benchmark ``<benchmark>.questions``, ``<benchmark>.breakdowns`` and ``<benchmark>.analyses``,
            and for each of its variants ``<benchmark>.<variant>.outcome`` and ``<benchmark>.<variant>.answers``, None
            where it was not run.

    Returns:
        The study's own fields, with the seeds that were run; ``rows``: one for each variant, benchmark, split, group
        and metric; ``trials``: those of each variant by benchmark; ``trained_on``: what they were trained on, likewise,
        where that is another benchmark; ``homes``: the subsets of each benchmark that analyses look at, none where that
        is all of it; ``failures``: trials that have no result, and why; ``analyses``: what else was
        found, by benchmark; ``breakdowns``: scores in groups of questions; ``searches``: what was found where
        training was tuned, by benchmark and variant.
    """
    rows, trials, searches, homes, trained_on = [], {}, {}, {}, {}
    for benchmark in about.benchmarks:
        run = {variant: _of(parts, benchmark, variant) for variant in about.variants}
        run = {variant: given for variant, given in run.items() if given is not None}
        rows += _rows(about, benchmark, parts[f"{benchmark}.questions"], run)
        trials[benchmark] = {variant: outcome["trials"] for variant, (outcome, _) in run.items()}
        searches[benchmark] = {name: outcome["search"] for name, (outcome, _) in run.items() if "search" in outcome}
        others = {variant: outcome.get("trained_on", benchmark) for variant, (outcome, _) in run.items()}
        trained_on[benchmark] = {variant: other for variant, other in others.items() if other != benchmark}
        homes[benchmark] = home_of(benchmark, [outcome for outcome, _ in run.values()])
    failures = [
        {"benchmark": benchmark, "variant": variant, "seed": one["seed"], "failure": one["failure"]}
        for benchmark, by_variant in trials.items()
        for variant, of_variant in by_variant.items()
        for one in of_variant
        if one.get("failure")
    ]
    _correct(rows, asked_rows({"rows": rows, "asks": about.asks, "homes": homes}), about.metric)
    analyses = {benchmark: parts[f"{benchmark}.analyses"] for benchmark in about.benchmarks}
    breakdowns = [
        row for benchmark in about.benchmarks for row in parts[f"{benchmark}.breakdowns"].to_table().to_pylist()
    ]
    seeds = {one["seed"] for by_variant in trials.values() for given in by_variant.values() for one in given}
    found = {"rows": rows, "trials": trials, "trained_on": trained_on, "searches": searches, "failures": failures}
    found |= {"homes": {benchmark: list(subsets) for benchmark, subsets in homes.items()}}
    found |= {"seeds": sorted(seeds) or list(about.seeds), "analyses": analyses, "breakdowns": breakdowns}
    return about.model_dump(mode="json") | found


def rows_of(results: Mapping[str, Any]) -> pa.Table:
    """The rows as a table."""
    flat = [row | study_printed.columns(row["printed"]) for row in results["rows"]]
    return pa.Table.from_pylist([{name: row[name] for name in STUDY_ROWS.names} for row in flat], STUDY_ROWS)


def asked_rows(results: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The rows of the questions that a study asks about.

    Args:
        results: What `results_of` returned.
    """
    asks = results.get("asks", {})  # Earlier findings do not say what they ask about.
    return [
        row
        for row in results["rows"]
        if row["group"] in asked_groups(asks.get(row["benchmark"], ()), results["homes"][row["benchmark"]])
    ]


def _of(parts: Mapping[str, Any], benchmark: str, variant: str) -> tuple[dict[str, Any], pads.Dataset] | None:
    outcome, given = (parts.get(f"{benchmark}.{variant}.{part}") for part in ("outcome", "answers"))
    return None if outcome is None or given is None else (outcome, given)


def _rows(
    about: StudyParameters,
    benchmark: str,
    questions: pads.Dataset,
    run: Mapping[str, tuple[dict[str, Any], pads.Dataset]],
) -> list[dict[str, Any]]:
    table = questions.to_table(columns=groups.COLUMNS)
    made = {variant: Run.of(outcome, given.to_table(), table) for variant, (outcome, given) in run.items()}
    runs = {variant: one for variant, one in made.items() if one is not None}
    printed = study_printed.by_place(about.model_dump(mode="json")["printed"], about.benchmarks)
    rows: list[dict[str, Any]] = []
    for variant, one in runs.items():
        task, baseline = one.task, about.baseline_of(variant)
        found = scoring.summarise(one.predictions, table, task=task, trials=one.seed_of)
        splits = groups.members(one.asked["split"])
        for split, by_group in found["splits"].items():
            for group, inside in groups.within(splits[split], groups.subsets(one.asked)):
                for metric in METRICS[task]:
                    place = {"benchmark": benchmark, "split": split, "group": group, "metric": metric}
                    rows.append(
                        place
                        | {
                            "variant": variant,
                            "title": about.variants[variant].title,
                            "encoder": run[variant][0].get("encoder"),
                            "baseline": None if variant == baseline else baseline,
                            "questions": int(inside.sum()),
                            "trials": len(one.trials),
                            **{key: by_group[group][metric][key] for key in ("mean", "low", "high", "spread", "seeds")},
                            **_NO_DIFFERENCE,
                            "printed": printed.get((variant, *place.values()), []),
                        }
                    )
    _compare(rows, runs)
    return rows


def _compare(rows: Sequence[dict[str, Any]], runs: Mapping[str, Run]) -> None:
    """Say of each row how it differs from its baseline; all rows of the same questions share what is drawn."""
    marks = {variant: one.marks_by_seed() for variant, one in runs.items()}
    alike: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        if marks.get(row["baseline"]):
            alike.setdefault((row["split"], row["group"]), []).append(row)
    for (split, group), own in alike.items():
        asked = runs[own[0]["variant"]].asked
        inside = groups.members(asked["split"])[split] & groups.subsets(asked)[group]
        pairs = [
            variants.Pair(
                *(_values(marks[row[which]], row["metric"], inside) for which in ("variant", "baseline")),
                graded=row["metric"] == "f1",
            )
            for row in own
        ]
        for row, found in zip(own, variants.compare(pairs, groups.passage_numbers(asked)[inside]), strict=True):
            row.update(_difference(found))


def _difference(found: variants.Comparison) -> dict[str, Any]:
    return {
        "difference": found.difference.mean,
        "difference_low": found.difference.low,
        "difference_high": found.difference.high,
        "p": found.difference.p,
        "resolves": found.resolves,
        "over_seeds": found.over_seeds,
        "by_seed": [{"seed": one.seed, "mcnemar_p": one.mcnemar_p} | vars(one.difference) for one in found.by_seed],
    }


def _values(given: Mapping[int, answers.Answers], metric: str, rows: np.ndarray) -> dict[int, np.ndarray]:
    return {seed: scoring.marks(one, metric)[0, rows] for seed, one in given.items()}


def _correct(rows: list[dict[str, Any]], asked: Sequence[dict[str, Any]], metric: str | None) -> None:
    """Correct p values for how many a table asks for, and say what each difference comes to.

    A table asks one question of each variant, benchmark, split and group of questions that it asks about: what others
    and further metrics show is only told. It is asked of the study's own metric where the benchmark is scored by it,
    else of the task's.
    """
    leads = {row["benchmark"]: ("accuracy", "f1") for row in rows}
    leads |= {row["benchmark"]: (metric,) for row in rows if row["metric"] == metric}
    leading = [row for row in asked if row["metric"] in leads[row["benchmark"]]]
    for row in rows:
        row["p_corrected"] = None
    for row, p in zip(leading, variants.corrected([row["p"] for row in leading]), strict=True):
        row["p_corrected"] = p
    count = sum(row["p"] is not None for row in leading)
    for row in rows:
        row["verdict"] = None if row["difference"] is None else _verdict(row, count)


def _verdict(row: Mapping[str, Any], comparisons: int) -> str:
    """What a difference comes to, in a sentence."""
    low, high = row["difference_low"], row["difference_high"]
    if low is None or high is None:
        return "one passage says nothing of others"
    if low <= 0 <= high:
        resolved = f"{row['questions']:,} questions resolve differences above {row['resolves']:.1f} points"
        return f"not distinguishable at these sizes: {resolved}"
    found = f"{'better' if low > 0 else 'worse'}{'' if row['over_seeds'] else ', with these seeds'}"
    if row["p_corrected"] is None:
        return f"{found}, not corrected"
    if row["p_corrected"] >= ALPHA:
        return f"{found}, before a correction for {comparisons} comparisons"
    return found
