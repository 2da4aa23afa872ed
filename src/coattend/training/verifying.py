"""Whether a finished trial answers today as it did when it was scored."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from coattend.datasets.stored_tables import StoredTables
from coattend.errors import CoattendError
from coattend.evaluation.scoring import by_name, summarise
from coattend.parameters import BenchmarkParameters
from coattend.training.finished import FinishedTrial, answers_of
from coattend.training.fit import Work
from coattend.training.predict import ask
from coattend.training.trained_by import trained_by
from coattend.training.trial import digest_of_files

ANSWER = ("prediction", "label", "start", "end", "correct", "f1")
"""Columns of predictions that are an answer and its marks."""

ROUNDING = 1e-6
"""Percent by which a metric may differ that was written and read again."""


def verify(
    trial: FinishedTrial,
    tables: StoredTables,
    benchmark: BenchmarkParameters,
    *,
    attached: pa.Table | None,
    logged: Mapping[str, float] | None = None,
) -> dict[str, Any]:
    """Ask a trial all that it was scored on once more.

    Args:
        trial: The trial.
        tables: The tables of all benchmarks.
        benchmark: Its benchmark.
        attached: The answers that its MLflow run holds; None: it has no run.
        logged: The metrics that its MLflow run holds.

    Returns:
        As JSON whether its weights and data are what they were, how many answers differ from those in its folder, by
        how much scores do at most, whether its run holds the same answers, and which of its metrics are others now.

    Raises:
        CoattendError: If its weights, tables or answers are gone.
    """
    plan = trained_by(trial, tables, benchmark, None)
    asked = plan.source.scored(plan.training)
    kept = answers_of(trial, trial.id, asked.questions["question_id"], benchmark.name)
    if not (trial.folder / "model").is_dir():
        raise CoattendError("are gone", where=f"weights of the trial {trial.id}", cure="Train it again")
    again = ask(plan, trial.outcome, asked, trial.folder)
    return {
        "trial": trial.id,
        "about": str(trial),
        "weights": digest_of_files(trial.folder / "model") == trial.outcome["model_digest"],
        "data": Work.of(plan, trial.folder.parent).data == trial.content["data"],
        "run": None if attached is None else _sorted(attached).equals(_sorted(kept)),
        "other_metrics": _other_metrics(again, asked.questions, plan.source.task, logged) if logged else [],
        **differences(again, kept),
    }


def differences(again: pa.Table, kept: pa.Table) -> dict[str, Any]:
    """How two tables of predictions of the same questions differ.

    Raises:
        CoattendError: If they are of other questions.
    """
    again, kept = _sorted(again), _sorted(kept)
    if again["question_id"] != kept["question_id"]:
        cure = "Run ingestion, tagging and tokenization with the parameters that it was scored with"
        raise CoattendError("are others than those that were answered", where="questions", cure=cure)
    other, largest = 0, 0.0
    for mine, theirs in zip(again.to_pylist(), kept.to_pylist(), strict=True):
        scores, before = _scores(mine), _scores(theirs)
        if len(scores) != len(before) or any(mine[name] != theirs[name] for name in ANSWER):
            other += 1
        elif len(scores):
            largest = max(largest, float(np.abs(scores - before).max()))
    return {"questions": len(kept), "other_answers": other, "largest_difference": largest}


def _scores(row: Mapping[str, Any]) -> np.ndarray:
    """Those of options and of nothing."""
    null_score = row["null_score"]
    return np.array([*(row["scores"] or ()), *(() if null_score is None else (null_score,))])


def _other_metrics(again: pa.Table, questions: pa.Table, task: str, logged: Mapping[str, float]) -> list[str]:
    """Which of the metrics that the run of one trial holds are others now."""
    trials = dict(zip(again["trial_id"].to_pylist(), again["seed"].to_pylist(), strict=True))
    now = by_name(summarise(again, questions, task=task, trials=trials))
    return sorted(name for name, one in now if name in logged and abs(one["mean"] - logged[name]) > ROUNDING)


def _sorted(table: pa.Table) -> pa.Table:
    return table.sort_by("question_id").combine_chunks()
