"""Verify that a finished trial still gives the answers that it was scored with."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from coattend.config import BenchmarkParameters
from coattend.errors import CoattendError
from coattend.evaluation.records import Differences, Verification
from coattend.evaluation.summary import by_name, summarise
from coattend.inference.predict import compute_predictions
from coattend.io.mlflow_store import logged_name
from coattend.io.table_store import StoredTables
from coattend.trials.run_spec import restore_experiment
from coattend.trials.store import FinishedTrial, answers_of
from coattend.trials.trial import still_has_digest

ANSWER_COLUMNS = ("prediction", "label", "start", "end", "correct", "f1")
"""Columns of predictions that have to be equal."""

METRIC_TOLERANCE = 1e-6
"""Rounding in percent of a metric that was written and read again."""


def verify(
    trial: FinishedTrial,
    tables: StoredTables,
    benchmark: BenchmarkParameters,
    *,
    attached: pa.Table | None,
    logged: Mapping[str, float] | None = None,
    name: str = "",
) -> Verification:
    """Predict the answers of a trial again and compare them with the stored ones, with those attached to its MLflow run
    (None: it has no run), and with the metrics logged there. Behind the ``name`` that the user gave a key may follow,
    which chooses among several files of answers. CoattendError if weights, tables or predictions are gone."""
    experiment = restore_experiment(trial, tables, benchmark)
    questions = experiment.source.evaluation(experiment.training)
    stored = answers_of(trial, name or trial.id, questions.questions["question_id"], benchmark.name)
    if not (trial.folder / "model").is_dir():
        raise CoattendError("are gone", where=f"weights of the trial {trial.id}", cure="Train it again")
    predictions = compute_predictions(experiment, trial.outcome, questions, trial.folder)
    task = experiment.source.task
    # Those of other benchmarks are not restored.
    alone = set(experiment.training.train_on) <= {benchmark.name}
    return {
        "trial": trial.id,
        "about": str(trial),
        "weights": still_has_digest(trial.folder / "model", trial.outcome["model_digest"]),
        "data": experiment.training_questions().digest == trial.content["data"] if alone else None,
        "run": None if attached is None else _sorted(attached).equals(_sorted(stored)),
        "other_metrics": _changed_metrics(predictions, questions.questions, task, logged) if logged else [],
        **differences(predictions, stored),
    }


def differences(predictions: pa.Table, stored: pa.Table) -> Differences:
    """Compare two tables of predictions, which must be for the same questions."""
    predictions, stored = _sorted(predictions), _sorted(stored)
    if predictions["question_id"] != stored["question_id"]:
        cure = "Run ingestion, tagging and tokenization with the parameters that it was scored with"
        raise CoattendError("differ from those that the stored answers are for", where="questions", cure=cure)
    # Answers have to be equal; scores may differ in their last digits on another machine.
    changed, largest = 0, 0.0
    for new_row, old_row in zip(predictions.to_pylist(), stored.to_pylist(), strict=True):
        new_scores, old_scores = _scores(new_row), _scores(old_row)
        if len(new_scores) != len(old_scores) or any(new_row[column] != old_row[column] for column in ANSWER_COLUMNS):
            changed += 1
        elif len(new_scores):
            largest = max(largest, float(np.abs(new_scores - old_scores).max()))
    return {"questions": len(stored), "other_answers": changed, "largest_difference": largest}


def _scores(row: Mapping[str, Any]) -> np.ndarray:
    """Return the scores of options and of "no answer"."""
    null_score = row["null_score"]
    return np.array([*(row["scores"] or ()), *(() if null_score is None else (null_score,))])


def _changed_metrics(predictions: pa.Table, questions: pa.Table, task: str, logged: Mapping[str, float]) -> list[str]:
    """Return the names of logged metrics that differ from those of the new predictions."""
    trials = dict(zip(predictions["trial_id"].to_pylist(), predictions["seed"].to_pylist(), strict=True))
    metrics = by_name(summarise(predictions, questions, task=task, trials=trials))
    return sorted(
        name
        for name, metric in metrics
        if abs(metric["mean"] - logged.get(logged_name(name), metric["mean"])) > METRIC_TOLERANCE
    )


def _sorted(table: pa.Table) -> pa.Table:
    return table.sort_by("question_id").combine_chunks()
