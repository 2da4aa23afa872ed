"""MLflow's store is locked, away or read-only: a training goes on, all else ends with one message, nothing is lost."""

import sqlite3
from contextlib import closing

import pytest
from mlflow import MlflowClient

from coattend.errors import CoattendError
from coattend.io import mlflow_store
from coattend.serving.model_lookup import logged_models
from coattend.training import events

TINY = {
    "readers": {"as_reader": {"vectors": "random", "hidden": 8}},
    "benchmarks": {"sample": {"training": {"max_questions": 8}}},
}
CURE = "run the same command again: what was finished is kept"


def runs_of(project):
    client = MlflowClient(f"sqlite:///{project / 'mlflow.db'}")
    return client.search_runs([client.get_experiment_by_name("sample").experiment_id])


@pytest.fixture
def locked():
    """Locks a store as a process that writes for a long time does."""
    connections = []

    def lock(file):
        connections.append(sqlite3.connect(file, isolation_level=None, check_same_thread=False))
        connections[-1].execute("BEGIN EXCLUSIVE")

    def release():
        for connection in connections:
            connection.close()
        connections.clear()

    lock.release = release
    yield lock
    release()


@pytest.mark.slow
def test_a_store_that_is_locked_or_away_is_told_before_anything_runs(run_shared, shared_project, locked, monkeypatch):
    """Once it is free, the same command does what it would have done."""
    monkeypatch.setattr(mlflow_store, "SQLITE_TIMEOUT_S", 0.05)
    with closing(sqlite3.connect(shared_project / "mlflow.db")) as store:
        store.execute("PRAGMA user_version = 0")
    locked(shared_project / "mlflow.db")
    with pytest.raises(CoattendError, match=f"MLflow's store cannot be used .database is locked.*{CURE}"):
        run_shared("training", "sample.as_reader", **TINY)
    locked.release()
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{shared_project}/nowhere/at/all.db")
    with pytest.raises(CoattendError, match=f"MLflow's store cannot be used .unable to open database file.*{CURE}"):
        run_shared("training", "sample.as_reader", **TINY)
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    with pytest.raises(CoattendError, match=f"MLflow's store cannot be used .*127.0.0.1.*{CURE}"):
        run_shared("training", "sample.as_reader", **TINY)
    assert not list(shared_project.glob("data/test/06_models/trials/*"))


RUN = "0" * 32
ASKING = {
    "champion": {},
    "verify": {"run": RUN},
    "prediction": {"prediction": {"model": RUN, "input": "asked.jsonl"}},
    "share": {"share": {"model": RUN}},
}
"""Pipelines that look something up in the store."""


@pytest.mark.parametrize("pipeline", ASKING)
def test_who_looks_something_up_is_told_that_the_store_is_locked_or_away(
    run_shared, shared_project, locked, monkeypatch, pipeline
):
    """It is not told that nothing of that name is there."""
    monkeypatch.setattr(mlflow_store, "SQLITE_TIMEOUT_S", 0.05)
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")

    def refused(reason):
        with pytest.raises(CoattendError, match=f"MLflow's store cannot be used .*{reason}.*{CURE}"):
            run_shared(pipeline, "sample" if pipeline == "champion" else "", **ASKING[pipeline])

    MlflowClient(f"sqlite:///{shared_project / 'mlflow.db'}").search_experiments()
    locked(shared_project / "mlflow.db")
    refused("database is locked")
    locked.release()
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{shared_project}/nowhere/at/all.db")
    refused("unable to open database file")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    refused("127.0.0.1")


def test_a_store_that_can_only_be_read_can_be_looked_up_in(tmp_path, quick_store):
    """As another process writes to it, or has it on a disk that is read-only, nothing can be written there."""
    file = tmp_path / "mlflow.db"
    MlflowClient(f"sqlite:///{file}").search_experiments()
    with closing(sqlite3.connect(file, isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        assert logged_models(f"sqlite:///{file}") == []


@pytest.mark.slow
def test_a_training_goes_on_when_its_store_is_locked_meanwhile(run_shared, shared_project, locked, caplog):
    class Locking:
        """Takes the store away at the first point of the first curve."""

        def trial_started(self, trial):
            pass

        def trial_logged(self, trial_id, step, values):
            locked(shared_project / "mlflow.db")
            events.listeners.remove(self)

        def trial_ended(self, trial_id, outcome):
            pass

    events.listeners.insert(0, Locking())
    run_shared("training", "sample.as_reader", **TINY)
    assert "is no longer tracked and goes on" in caplog.text
    assert "stays open until the next one closes it" in caplog.text
    (outcome,) = shared_project.glob("data/test/06_models/trials/*/outcome.json")
    written = outcome.stat().st_mtime_ns
    locked.release()
    run_shared("training,evaluation", "sample.as_reader", **TINY)
    assert outcome.stat().st_mtime_ns == written
    (trial,) = (
        run for run in runs_of(shared_project) if run.data.tags["kind"] == "trial" and run.info.status == "FINISHED"
    )
    assert trial.data.metrics["dev.accuracy"] >= 0
