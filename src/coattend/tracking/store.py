"""MLflow store of a project: client, experiments, common tags, and runs of processes that were killed."""

import logging
import os
import socket
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock

from coattend.config.project import COMMIT_VARIABLE, git_state
from coattend.io.mlflow_store import (
    CHARTS,
    NOTE,
    TRIALS,
    follow_project,
    is_server,
    logged_name,
    store_errors,
    store_uri,
    view_address,
)
from coattend.tracking.views import view_tags

if TYPE_CHECKING:
    from mlflow import MlflowClient


PROCESS = "coattend.process"
"""Tag with the host, the process id, and the process's start: ids are used again, starts are not.

A start is the boot of the machine and the ticks since then, which a clock that is set back does not change.
"""

STUDY_PREFIX = "study_"
"""Prefix of the experiments of studies; the others are named after benchmarks."""

KIND = "mlflow.experimentKind"
"""Tag of an experiment by which MLflow shows it as machine learning, and not as an application of language models."""

logger = logging.getLogger(__name__)


def this_process() -> str:
    """Return the tag of this process."""
    return _tag(os.getpid())


def close_orphans(client: "MlflowClient") -> None:
    """Close the runs that a killed process of this machine left open."""
    experiments = [experiment.experiment_id for experiment in client.search_experiments()]
    for run in client.search_runs(experiments, "attributes.status = 'RUNNING'", max_results=1000):
        tag = run.data.tags.get(PROCESS, "")
        # A process of this host that no longer has its tag is gone, or its id was used again.
        if tag.startswith(f"{socket.gethostname()} ") and _tag(int(tag.split()[1])) != tag:
            client.set_terminated(run.info.run_id, "KILLED")
            logger.warning("closed the tracked run %r, whose process is gone", run.info.run_name)


def _tag(pid: int) -> str:
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        ticks = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]  # The name may hold anything.
    except OSError:
        return ""
    return f"{socket.gethostname()} {pid} {boot} {ticks}"


def open_client(project: Path) -> "MlflowClient":
    """Open a client of the store that ``MLFLOW_TRACKING_URI`` names, or else of ``mlflow.db`` in the project."""
    uri = store_uri(project)
    from mlflow import MlflowClient

    with store_errors(uri), store_lock(project):  # The first client makes the tables.
        client = MlflowClient(uri)
        follow_project(uri)
        return client


def experiment_id(client: "MlflowClient", benchmark: str, project: Path) -> str:
    """Return the id of an experiment, which is created if needed, or restored if it was deleted in the interface."""
    with store_lock(project):
        existing = client.get_experiment_by_name(benchmark)
        if existing is not None:
            # A deleted experiment keeps its name, and takes no runs.
            if existing.lifecycle_stage == "deleted":
                client.restore_experiment(existing.experiment_id)
                logger.warning("MLflow's experiment %s was deleted, and is restored with its runs", benchmark)
            return existing.experiment_id
        # A server knows where it keeps artifacts; a folder of this machine would be nowhere for others.
        folder = None if is_server(store_uri(project)) else (project / "mlartifacts" / benchmark).as_uri()
        return client.create_experiment(benchmark, artifact_location=folder)


def describe_experiment(client: "MlflowClient", name: str, project: Path) -> str:
    """Give an experiment, which is created if needed, its kind, description and views; return its id."""
    experiment = experiment_id(client, name, project)
    before = client.get_experiment(experiment).tags
    table, charts = view_address(experiment, TRIALS), view_address(experiment, CHARTS)
    (kind, subject), *_ = experiment_tag(name).items()
    # The interface shows one line of it at first.
    note = (
        f"[Trials, best first]({table}); [charts by reader]({charts}).\n\nRuns of the {kind} `{subject}`: one for each "
        "command that trained readers, with the page that it drew, and below it one for each trial, with its scores, "
        "curves, predictions and model."
    )
    tags = {KIND: "custom_model_development", NOTE: note} | view_tags()
    # The interface writes a kind of its own where it finds none; all else users may have changed.
    for key, value in tags.items():
        if key not in before or (key == KIND and before[key] != value):
            client.set_experiment_tag(experiment, key, value)
    return experiment


def log_values(
    client: "MlflowClient", run: str, values: Mapping[str, float | None], step: int = 0, model: str | None = None
) -> None:
    """Write those metrics that have a value in one call, and link them to a model."""
    from mlflow.entities import Metric

    now = int(time.time() * 1000)
    measured = {logged_name(name): value for name, value in values.items() if value is not None}
    client.log_batch(
        run, metrics=[Metric(name, float(value), now, step, model_id=model) for name, value in measured.items()]
    )


def log_changed(client: "MlflowClient", run: str, values: Mapping[str, float | None], model: str | None = None) -> None:
    """Write those metrics that a run, and the model if there is one, does not have yet, or with another value."""
    before = client.get_run(run).data.metrics
    if model is not None:
        linked = {metric.key: metric.value for metric in client.get_logged_model(model).metrics or ()}
        before = {name: value for name, value in before.items() if linked.get(name) == value}
    changed = {name: value for name, value in values.items() if before.get(logged_name(name)) != value}
    if changed:
        log_values(client, run, changed, model=model)


def common_tags(project: Path) -> dict[str, str]:
    """Return the tags of every run: its process, the commit of the code, and whether files differ from it."""
    state = git_state(project)
    if state is None:
        commit_variable = os.environ.get(COMMIT_VARIABLE)
        return {PROCESS: this_process()} | ({"git_sha": commit_variable} if commit_variable else {})
    commit, changed = state
    dirty = {"git_dirty": "true" if changed else "false"}
    return {PROCESS: this_process(), "git_sha": commit, "mlflow.source.git.commit": commit} | dirty


def experiment_tag(experiment: str) -> dict[str, str]:
    """Return the tag that names the study or benchmark of an experiment."""
    key = "study" if experiment.startswith(STUDY_PREFIX) else "benchmark"
    return {key: experiment.removeprefix(STUDY_PREFIX)}


def store_lock(project: Path) -> FileLock:
    """Return the lock that processes take before they create tables, experiments or runs, or write to a run that
    others may write to as well; the thread that holds it may take it again."""
    folder = project / "mlartifacts"
    folder.mkdir(exist_ok=True)
    return FileLock(folder / ".lock", is_singleton=True)
