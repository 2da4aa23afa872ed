"""Nodes of the verification pipeline."""

import logging
from pathlib import Path
from typing import Any

from coattend.datasets.stored_tables import StoredTables
from coattend.errors import CoattendError
from coattend.parameters import BenchmarkParameters

logger = logging.getLogger(__name__)


def verify(
    run: Any, benchmarks: dict[str, Any], trials: Path, mlflow_store: str, stored_tables: StoredTables
) -> dict[str, Any]:
    """Ask the trial of a finished run again, from its weights and the tables as they are.

    Args:
        run: Id of its MLflow run, or of the trial, or the beginning of that.
        benchmarks: Every benchmark's parameters.
        trials: The folder of all trials.
        mlflow_store: Address of the MLflow store.
        stored_tables: The tables of all benchmarks.

    Returns:
        What was found; see `coattend.training.verifying.verify`.

    Raises:
        CoattendError: If there is no such run, or something that it needs is gone.
    """
    from coattend.answering.runs import answers_of_run, metrics_of_run, run_of
    from coattend.training.finished import find_trial
    from coattend.training.verifying import verify

    if not run:
        raise CoattendError("names no run", where="run", cure="Say which: --params run=<id of a run or of a trial>")
    if isinstance(run, float):
        cure = "Give more of the id, or quote it twice, as in \"run='75e2'\""
        raise CoattendError("was read as a number", where="run", cure=cure)
    found, name = run_of(mlflow_store, str(run))
    trial = find_trial(trials, name, "run")
    benchmark = BenchmarkParameters.model_validate(benchmarks[trial.benchmark])
    attached = None if found is None else answers_of_run(mlflow_store, found)
    logged = None if found is None else metrics_of_run(mlflow_store, found)
    return verify(trial, stored_tables, benchmark, attached=attached, logged=logged)


def judge(verified: dict[str, Any]) -> None:
    """Say what was found.

    Raises:
        CoattendError: If something is not what it was.
    """
    wrong = []
    if not verified["weights"]:
        wrong.append("its weights are not those that were trained")
    if not verified["data"]:
        wrong.append("its training questions are others now")
    if verified["run"] is False:
        wrong.append("its MLflow run holds other answers than its folder")
    if verified["other_metrics"]:
        wrong.append(f"its MLflow run holds other metrics ({', '.join(verified['other_metrics'][:3])})")
    if verified["other_answers"]:
        wrong.append(f"{verified['other_answers']:,} of {verified['questions']:,} questions are answered otherwise")
    if wrong:
        raise CoattendError("; ".join(wrong), where=f"trial {verified['about']}", cure="See 08_reporting/verified.json")
    exactly = verified["largest_difference"]
    scores = f"; scores differ by {exactly:.2g} at most" if exactly else ", to the last bit"
    logger.info("%s answers all %s questions as it did%s", verified["about"], f"{verified['questions']:,}", scores)
