"""MLflow runs of trials: which trial it is, and what it answered."""

import re
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from coattend.datasets.mlflow_store import asking, client_of
from coattend.errors import CoattendError

RUN = re.compile(r"[0-9a-f]{32}")
"""Id of an MLflow run."""

MISSING = "RESOURCE_DOES_NOT_EXIST"
"""What MLflow's error is called when there is no such thing; any other is the store's own trouble."""


def run_of(store: str, given: str) -> tuple[str | None, str]:
    """The run and the trial that a person means.

    Args:
        store: Address of the MLflow store.
        given: Id of a run, or of a trial or its beginning.

    Returns:
        The run's id, if that was given, and the trial's or its beginning.

    Raises:
        CoattendError: If there is no such run, it is none of a trial, or the store cannot be asked.
    """
    if not RUN.fullmatch(given):
        return None, given
    from mlflow.exceptions import MlflowException

    cure = "Take one from the MLflow UI (make mlflow), or a trial's id"
    client = client_of(store)
    if client is None:
        raise CoattendError(f"there is no MLflow store here to look for run {given}", where="run", cure=cure)
    with asking(store, writing=False):
        try:
            tags = client.get_run(given).data.tags
        except MlflowException as error:
            if error.error_code != MISSING:
                raise
            raise CoattendError(f"there is no run {given}", where="run", cure=cure) from None
    if "trial_id" not in tags:
        raise CoattendError("is no run of a trial", where=f"run {given}", cure="Take one of its child runs")
    return given, tags["trial_id"]


def answers_of_run(store: str, run: str) -> pa.Table:
    """The predictions that are attached to a run.

    Raises:
        CoattendError: If there are none, or the store cannot be asked.
    """
    from mlflow import MlflowClient
    from mlflow.exceptions import MlflowException

    with asking(store, writing=False), tempfile.TemporaryDirectory() as folder:
        try:
            file = MlflowClient(store).download_artifacts(run, "predictions.parquet", folder)
        except (MlflowException, OSError) as error:
            if getattr(error, "error_code", MISSING) != MISSING:
                raise
            cure = "Run the pipeline evaluation of its reader"
            raise CoattendError("holds no predictions", where=f"run {run}", cure=cure) from None
        return pq.read_table(Path(file))


def metrics_of_run(store: str, run: str) -> dict[str, float]:
    """The last value of each metric of a run.

    Raises:
        CoattendError: If the store cannot be asked.
    """
    from mlflow import MlflowClient

    with asking(store, writing=False):
        found: dict[str, float] = MlflowClient(store).get_run(run).data.metrics
    return found
