"""Nodes of the pipeline that shares a trained reader."""

import logging
from pathlib import Path
from typing import Any

from coattend.datasets.stored_tables import StoredTables
from coattend.errors import CoattendError
from coattend.parameters import BenchmarkParameters, ShareParameters

logger = logging.getLogger(__name__)


def write(
    share: ShareParameters,
    benchmarks: dict[str, Any],
    trials: Path,
    mlflow_store: str,
    stored_tables: StoredTables,
    shared: Path,
) -> dict[str, Any]:
    """Write a trained reader as a folder that others can load.

    Args:
        share: Which reader, and what it will be called.
        benchmarks: Every benchmark's parameters.
        trials: The folder of all trials.
        mlflow_store: Address of the MLflow store.
        stored_tables: The tables of all benchmarks.
        shared: Where the folder is made.

    Returns:
        What was written; see `coattend.serving.shared.write`.

    Raises:
        CoattendError: If there is no such reader, or its trial is not here.
    """
    from coattend.answering import recipe as recipes
    from coattend.answering.found import find, listed
    from coattend.serving import shared as sharing
    from coattend.serving.logged import commit_of_trial
    from coattend.training.finished import find_trial

    if not share.model:
        cure = f"Say which: --params share.model=<model>,share.to=<user>/<name>. {listed(trials, mlflow_store)}"
        raise CoattendError("names no trained reader", where="share.model", cure=cure)
    folder = find(share.model, trials, mlflow_store, where="share.model")
    recipe = recipes.read(folder)
    trial = find_trial(trials, recipe.trial_id, "share.model")
    benchmark = BenchmarkParameters.model_validate(benchmarks[recipe.benchmark])
    target = shared / f"{recipe.benchmark}-{recipe.name}-{trial.id}"
    commit = commit_of_trial(mlflow_store, trial.id)
    written = sharing.write(trial, target, stored_tables, benchmark, to=share.to, commit=commit)
    logger.info("%s is ready to be shared: %s; prediction.model takes that folder, too", trial, target)
    return written


def upload(sharing: dict[str, Any], share: ShareParameters, shared: Path) -> None:
    """Send what was written to the Hugging Face Hub, unless no name there is given.

    Args:
        sharing: What was written.
        share: What it is called there.
        shared: Where its folder is.

    Raises:
        CoattendError: If the Hub is out of reach, or refuses.
    """
    from coattend.serving import hub

    if not share.to:
        logger.info("Nothing is sent: share.to names no place on the Hugging Face Hub")
        return
    address = hub.upload(shared / sharing["folder"], share.to, private=share.private)
    logger.info(
        "%s is on the Hugging Face Hub: %s; prediction.model takes hf://%s", sharing["about"], address, share.to
    )
