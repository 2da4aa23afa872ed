"""All that is known about the readers of a benchmark, as data."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads

from coattend.evaluation import answers, groups
from coattend.evaluation.scoring import METRICS, marks
from coattend.evaluation.significance import mcnemar, paired_bootstrap

BASELINE = "plain"


def compare(
    benchmark: str,
    title: str,
    questions: pads.Dataset,
    rejected: pads.Dataset,
    metrics: Mapping[str, dict[str, Any] | None],
    predictions: Mapping[str, pads.Dataset | None],
) -> dict[str, Any]:
    """Put the readers of a benchmark side by side.

    Args:
        benchmark: Its name.
        title: Its name as the literature writes it.
        questions: Its questions.
        rejected: The records that ingestion refused.
        metrics: Each reader's metrics as the evaluation stage wrote them, or None where it was not run.
        predictions: Its predictions, or None where they are not at hand: it then has no paired test.

    Returns:
        Benchmark and title; ``readers``: name to status (``scored``, ``failed`` or ``not run``) and metrics;
        ``baselines``: task to reader; ``chance``: task to split to group to percent; ``differences``: paired tests
        against the baselines; ``rejected``: how many records and why.
    """
    asked = questions.to_table(columns=groups.COLUMNS)
    readers = {name: {"status": _status(given), "metrics": given} for name, given in metrics.items()}
    scored = {name: given for name, given in metrics.items() if readers[name]["status"] == "scored"}
    baselines = _baselines(scored)
    options = questions.to_table(columns=["options"])["options"]
    return {
        "benchmark": benchmark,
        "title": title,
        "unit": "percent",
        "readers": readers,
        "baselines": baselines,
        "chance": _chance(asked.append_column("option_count", pc.list_value_length(options)), list(baselines)),
        "differences": list(_differences(asked, scored, predictions, baselines)),
        "rejected": _rejected(rejected),
    }


def _status(metrics: dict[str, Any] | None) -> str:
    if metrics is None:
        return "not run"
    return "scored" if metrics["splits"] else "failed"


def _baselines(scored: Mapping[str, dict[str, Any]]) -> dict[str, str]:
    """For each task the plain reader, else the first reader that was run."""
    baselines: dict[str, str] = {}
    for name in sorted(scored, key=lambda name: (name != BASELINE, not name.startswith(f"{BASELINE}_"))):
        baselines.setdefault(scored[name]["task"], name)
    return baselines


def _chance(questions: pa.Table, tasks: list[str]) -> dict[str, dict[str, dict[str, float]]]:
    """What guessing scores: an option at random; for spans, "no answer" to every question."""
    chance: dict[str, dict[str, dict[str, float]]] = {}
    for task in tasks:
        asked, _ = groups.scored_questions(questions, task)
        hits = ~asked["answerable"].to_numpy() if task == "span" else 1 / asked["option_count"].to_numpy()
        chance[task] = {
            split: {name: 100 * float(hits[group].mean()) for name, group in groups.within(rows, groups.subsets(asked))}
            for split, rows in groups.members(asked["split"]).items()
        }
    return chance


def _differences(
    questions: pa.Table,
    scored: Mapping[str, dict[str, Any]],
    predictions: Mapping[str, pads.Dataset | None],
    baselines: Mapping[str, str],
) -> Iterator[dict[str, Any]]:
    for task, baseline in baselines.items():
        if predictions.get(baseline) is None:
            continue
        asked, _ = groups.scored_questions(questions, task)
        passages, splits = groups.passage_numbers(asked), groups.members(asked["split"])
        theirs = _aligned(predictions[baseline], asked, scored[baseline])
        for name, metrics in scored.items():
            if metrics["task"] != task or name == baseline or predictions.get(name) is None:
                continue
            ours = _aligned(predictions[name], asked, metrics)
            for split in sorted(metrics["splits"].keys() & scored[baseline]["splits"].keys()):
                for metric in METRICS[task]:
                    pair = (marks(ours, metric)[:, splits[split]], marks(theirs, metric)[:, splits[split]])
                    named = {"task": task, "split": split, "metric": metric, "reader": name, "baseline": baseline}
                    yield named | _difference(*pair, passages[splits[split]], metric)


def _aligned(predictions: pads.Dataset, questions: pa.Table, metrics: dict[str, Any]) -> answers.Answers:
    trials = [trial["trial_id"] for trial in metrics["trials"] if not trial.get("failure")]
    return answers.align(predictions.to_table(columns=answers.COLUMNS), questions["question_id"], trials)


def _difference(ours: np.ndarray, theirs: np.ndarray, passages: np.ndarray, metric: str) -> dict[str, Any]:
    """In percentage points; McNemar's test where both are right or wrong and were trained once."""
    found = paired_bootstrap(100 * ours, 100 * theirs, passages)
    once = metric != "f1" and len(ours) == len(theirs) == 1
    return vars(found) | {"mcnemar_p": mcnemar(ours[0] > 0, theirs[0] > 0) if once else None}


def _rejected(rejected: pads.Dataset) -> dict[str, Any]:
    reasons = Counter(rejected.to_table(columns=["reason"])["reason"].to_pylist())
    return {"records": reasons.total(), "reasons": dict(reasons.most_common())}
