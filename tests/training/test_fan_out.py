"""A cluster trains the trials that this machine would; one whose process dies does not keep others from training."""

import os
import signal

import pytest
from distributed import LocalCluster

from coattend.parameters import EngineParameters
from coattend.training import events
from coattend.training.fan_out import train_seeds
from coattend.training.predict import predict_all


@pytest.fixture
def engine():
    options = {"host": "127.0.0.1", "dashboard_address": None, "silence_logs": "CRITICAL"}
    with LocalCluster(n_workers=1, threads_per_worker=1, **options) as cluster:
        yield EngineParameters(kind="dask", address=cluster.scheduler_address)


def test_a_cluster_trains_and_asks_the_trials_that_this_machine_would(plan_for, engine, tmp_path):
    plan, store = plan_for(), tmp_path / "trials"
    outcomes = train_seeds(plan, store, engine=engine)
    assert [one["seed"] for one in outcomes] == list(plan.training.seeds)
    assert train_seeds(plan, store, processes=1) == outcomes  # It finds them done.

    model = {"trials": outcomes}
    answers, rejected = predict_all(plan, model, store, engine=engine)
    kept = list(store.glob("*/predictions-*.parquet"))
    assert len(kept) == 2
    for file in kept:
        file.unlink()
    again, rejected_again = predict_all(plan, model, store)
    assert answers.equals(again)
    assert rejected.equals(rejected_again)


class Fatal:
    """Kills the process that begins the trial of seed 4."""

    def trial_started(self, trial):
        if trial["seed"] == 4:
            os.kill(os.getpid(), signal.SIGKILL)

    def trial_logged(self, trial_id, step, values):
        pass

    def trial_ended(self, trial_id, outcome):
        pass


def test_a_trial_whose_process_dies_has_a_failure_record(plan_for, tmp_path, monkeypatch):
    plan = plan_for()
    monkeypatch.setattr(events, "listeners", [Fatal()])
    outcomes = train_seeds(plan, tmp_path, processes=2)
    assert [one["seed"] for one in outcomes] == [3, 4]
    assert "a worker process died" in outcomes[1]["failure"]
    monkeypatch.setattr(events, "listeners", [])
    assert not any(one.get("failure") for one in train_seeds(plan, tmp_path, processes=1))
