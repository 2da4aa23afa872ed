"""A cluster trains the trials that this machine would, and they give the same answers."""

import pytest
from distributed import LocalCluster

from coattend.parameters import EngineParameters
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
