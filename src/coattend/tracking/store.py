"""The MLflow store of a project, and how values are written into it."""

import os
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock

from coattend.datasets.mlflow_store import asking, uri_of
from coattend.tracking.processes import PROCESS, this_process

if TYPE_CHECKING:
    from mlflow import MlflowClient

COMMIT = "COATTEND_GIT_SHA"
"""Environment variable that names the commit of the code where git cannot tell it, as in an image."""

STUDY = "study_"
"""What experiments of studies begin with; others are benchmarks."""


def client_of(project: Path) -> "MlflowClient":
    """A client of the store that ``MLFLOW_TRACKING_URI`` names, else of ``mlflow.db`` in the project."""
    uri = address_of(project)
    from mlflow import MlflowClient

    with asking(uri), _alone(project):  # The first client makes the tables.
        return MlflowClient(uri)


def address_of(project: Path) -> str:
    """The address of a project's store."""
    return uri_of(project / "mlflow.db")


def experiment_of(client: "MlflowClient", benchmark: str, project: Path) -> str:
    """The id of a benchmark's experiment, made if it is not there."""
    with _alone(project):
        found = client.get_experiment_by_name(benchmark)
        if found is not None:
            return found.experiment_id
        return client.create_experiment(benchmark, artifact_location=(project / "mlartifacts" / benchmark).as_uri())


def log_values(client: "MlflowClient", run: str, values: dict[str, float], step: int = 0) -> None:
    """Write metrics in one call."""
    from mlflow.entities import Metric

    now = int(time.time() * 1000)
    client.log_batch(run, metrics=[Metric(name, float(value), now, step) for name, value in values.items()])


def common_tags(project: Path) -> dict[str, str]:
    """Tags of every run: the process that it belongs to, the commit of the code, and whether more was changed."""
    commit = _git(project, "rev-parse", "HEAD")
    if commit is None:
        named = os.environ.get(COMMIT)
        return {PROCESS: this_process()} | ({"git_sha": named} if named else {})
    changed = _git(project, "status", "--porcelain", "--", "src", "conf")
    return {PROCESS: this_process(), "git_sha": commit, "git_dirty": "true" if changed else "false"}


def tag_of(experiment: str) -> dict[str, str]:
    """The tag that says which study or benchmark an experiment is of."""
    kind = "study" if experiment.startswith(STUDY) else "benchmark"
    return {kind: experiment.removeprefix(STUDY)}


def _git(project: Path, *command: str) -> str | None:
    """What git says; None where there is no git, or no repository."""
    try:
        told = subprocess.run(["git", "-C", str(project), *command], capture_output=True, text=True, check=False)
    except OSError:
        return None
    return None if told.returncode else told.stdout.strip()


def _alone(project: Path) -> FileLock:
    """What runs that begin at once take in turn, lest two of them make the same thing."""
    folder = project / "mlartifacts"
    folder.mkdir(exist_ok=True)
    return FileLock(folder / ".lock")
