"""Nodes of the verification pipeline."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from coattend.errors import CoattendError
from coattend.evaluation.records import Verification
from coattend.pipelines.annotations import StoredTables

logger = logging.getLogger(__name__)


def verify(
    run: Any, benchmarks: Mapping[str, object], trials: Path, mlflow_store: str, stored_tables: StoredTables
) -> Verification:
    """Predict the answers of a finished run's trial again, from its weights and the current tables; ``run`` is the id
    of its MLflow run or of the trial, or a prefix of that."""
    from coattend.serving.model_lookup import attached_predictions, resolve_run, run_metrics
    from coattend.training.verify import verify
    from coattend.trials.store import benchmark_of, find_trial

    if not run:
        raise CoattendError("names no run", where="run", cure="Say which: --params run=<id of a run or of a trial>")
    if isinstance(run, float):
        cure = "Give more of the id, or quote it twice, as in \"run='75e2'\""
        raise CoattendError("was read as a number", where="run", cure=cure)
    mlflow_run, trial_id = resolve_run(mlflow_store, str(run))
    trial = find_trial(trials, trial_id, "run")
    benchmark = benchmark_of(trial, benchmarks)
    attached = None if mlflow_run is None else attached_predictions(mlflow_store, mlflow_run)
    logged = None if mlflow_run is None else run_metrics(mlflow_store, mlflow_run)
    return verify(trial, stored_tables, benchmark, attached=attached, logged=logged, name=trial_id)


def judge(verified: Verification) -> None:
    """Log the result of a verification, and fail if anything has changed."""
    problems = []
    if not verified["weights"]:
        problems.append("its weights are not those that were trained")
    if verified["data"] is False:
        problems.append("its training questions are others now")
    if verified["run"] is False:
        problems.append("its MLflow run holds other answers than its folder")
    if verified["other_metrics"]:
        problems.append(f"its MLflow run holds other metrics ({', '.join(verified['other_metrics'][:3])})")
    if verified["other_answers"]:
        problems.append(f"{verified['other_answers']:,} of {verified['questions']:,} questions are answered otherwise")
    if problems:
        raise CoattendError(
            "; ".join(problems), where=f"trial {verified['about']}", cure="See 08_reporting/verified.json"
        )
    difference = verified["largest_difference"]
    scores = f"; scores differ by {difference:.2g} at most" if difference else ", to the last bit"
    logger.info("%s answers all %s questions as it did%s", verified["about"], f"{verified['questions']:,}", scores)
