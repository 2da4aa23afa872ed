"""A cluster trains the trials that this machine would; one whose process dies does not keep others from training."""

import os
import signal

import pytest
import torch
from distributed import LocalCluster

from coattend.config import EngineParameters
from coattend.errors import WorkerError
from coattend.inference.predict import predict_all
from coattend.training import events, launcher
from coattend.training.launcher import train_seeds
from coattend.training.run_trial import TrialRunner


@pytest.fixture
def engine():
    options = {"host": "127.0.0.1", "dashboard_address": None, "silence_logs": "CRITICAL"}
    with LocalCluster(n_workers=1, threads_per_worker=1, **options) as cluster:
        yield EngineParameters(kind="dask", address=cluster.scheduler_address)


@pytest.mark.slow
def test_a_cluster_trains_and_asks_the_trials_that_this_machine_would(experiment_for, engine, tmp_path):
    experiment, store = experiment_for(), tmp_path / "trials"
    outcomes = train_seeds(TrialRunner.of(experiment, store), engine=engine)
    assert [outcome["seed"] for outcome in outcomes] == list(experiment.training.seeds)
    assert train_seeds(TrialRunner.of(experiment, store), processes=1) == outcomes  # It finds them done.

    model = {"trials": outcomes}
    answers, rejected = predict_all(experiment, model["trials"], store, engine=engine)
    predictions = list(store.glob("*/predictions-*.parquet"))
    assert len(predictions) == 2
    for file in predictions:
        file.unlink()
    again, rejected_again = predict_all(experiment, model["trials"], store)
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


def test_trials_that_a_dead_worker_leaves_have_failure_records_and_are_trained_again(
    experiment_for, tmp_path, monkeypatch
):
    def one_and_no_more(engine, attempt, items, **_):
        yield attempt(items[0])
        raise WorkerError("a worker process died")

    with monkeypatch.context() as dying:
        dying.setattr(launcher, "map_shards", one_and_no_more)
        outcomes = train_seeds(TrialRunner.of(experiment_for(), tmp_path))
    assert [(outcome["seed"], outcome.get("failure")) for outcome in outcomes] == [
        (3, None),
        (4, "a worker process died"),
    ]
    assert not any(outcome.get("failure") for outcome in train_seeds(TrialRunner.of(experiment_for(), tmp_path)))


def test_trials_share_all_cores_and_gpus_of_a_machine_that_has_more_of_them(experiment_for, tmp_path, monkeypatch):
    asked = []

    def one_after_the_other(engine, attempt, items, workers, initializer, **_):
        asked.append(workers)
        if initializer is not None:
            initializer()
        yield from map(attempt, items)

    for name, value in {
        "cores": lambda: 16,
        "map_shards": one_after_the_other,
        "visible_gpus": lambda: ["4", "5"],
    }.items():
        monkeypatch.setattr(launcher, name, value)
    monkeypatch.setattr(launcher, "use_worker_gpu", asked.append)
    monkeypatch.setattr(torch, "set_num_threads", asked.append)
    monkeypatch.setattr(TrialRunner, "attempt", lambda runner, seed: ({"seed": seed}, None))
    outcomes = train_seeds(TrialRunner.of(experiment_for(device="auto"), tmp_path))
    assert outcomes == [{"seed": 3}, {"seed": 4}]
    assert asked == [2, ["4", "5"], 8, 8]
    # Processes of one trial take a GPU each themselves, and a trial on a processor none.
    for training in ({"device": "auto", "processes": 2}, {"device": "cpu"}):
        asked.clear()
        train_seeds(TrialRunner.of(experiment_for(**training), tmp_path), processes=2)
        assert asked == [2, 8, 8]


@pytest.mark.slow
def test_a_trial_whose_process_dies_has_a_failure_record(experiment_for, tmp_path, monkeypatch):
    experiment = experiment_for()
    monkeypatch.setattr(events, "listeners", [Fatal()])
    outcomes = train_seeds(TrialRunner.of(experiment, tmp_path), processes=2)
    assert [outcome["seed"] for outcome in outcomes] == [3, 4]
    assert "a worker process died" in outcomes[1]["failure"]
    monkeypatch.setattr(events, "listeners", [])
    assert not any(outcome.get("failure") for outcome in train_seeds(TrialRunner.of(experiment, tmp_path), processes=1))
