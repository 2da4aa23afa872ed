"""The champion is the best by its dev questions alone, and stays until another is better."""

import json
import shutil

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from mlflow import MlflowClient
from sampled import trial_of

from coattend.errors import CoattendError
from coattend.serving.champion import registered_name, update_champion
from coattend.serving.model_lookup import attached_predictions, resolve_model
from coattend.tracking.runs import attach_predictions

NAME = "coattend-sample-options"


@pytest.fixture
def client(trained_sample, run_trained, tmp_path, monkeypatch):
    """A copy of the store with the trained readers; what is registered there, other tests do not see."""
    shutil.copy(trained_sample / "mlflow.db", tmp_path / "copy.db")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'copy.db'}")
    return MlflowClient(f"sqlite:///{tmp_path / 'copy.db'}")


@pytest.fixture
def dev_ids(trained_sample):
    table = pq.read_table(trained_sample / "data/test/02_intermediate/sample/questions.parquet")
    is_dev_option = pc.and_(
        pc.equal(table["task"].cast("string"), "options"), pc.equal(table["split"].cast("string"), "dev")
    )
    return table.filter(is_dev_option)["question_id"]


@pytest.fixture
def add(client, runs, tmp_path):
    """Adds a trial like POI-Net's, which answers as it is told to, and is logged as a model."""

    def add(name, correct, **tags):
        like = client.get_run(runs["poi_net"])
        shared_tags = {key: like.data.tags[key] for key in ("kind", "benchmark", "selection")}
        trial_tags = {"reader": name, "seed": "0", "trial_id": name}
        run = client.create_run(like.info.experiment_id, tags=shared_tags | trial_tags | tags).info.run_id
        table = attached_predictions(client.tracking_uri, runs["poi_net"])
        marks = [correct(question_id) for question_id in table["question_id"].to_pylist()]
        column = table.schema.get_field_index("correct")
        attach_predictions(client, run, table.set_column(column, "correct", [marks]))
        client.set_terminated(run, "FINISHED")
        model = client.create_logged_model(like.info.experiment_id, "model", run)
        client.finalize_logged_model(model.model_id, "READY")
        return run

    return add


def versions(client):
    return len(client.search_model_versions(f"name = '{NAME}'"))


def test_each_task_has_a_champion_that_can_be_asked(client, run_trained, trained_sample, runs, caplog):
    caplog.set_level("INFO")
    for _ in range(2):
        run_trained("champion", "sample")
    file = trained_sample / "data/test/08_reporting/sample/champion.json"
    champions = json.loads(file.read_text())
    assert {task: entry["champion"]["run"] for task, entry in champions.items()} == {
        "options": runs["poi_net"],
        "span": runs["plain_span"],
        "word": runs["aoa_reader"],
    }
    scored = client.get_run(runs["poi_net"]).data.metrics["dev.accuracy"]
    assert champions["options"]["champion"]["score"] == pytest.approx(scored, abs=1e-3)
    assert client.get_run(runs["plain_span"]).data.metrics["dev.f1"] == pytest.approx(
        champions["span"]["champion"]["score"], abs=1e-3
    )
    assert (versions(client), champions["options"]["replaced"]) == (1, None)
    assert f"models:/{NAME}@champion is poi_net, seed 0" in caplog.text
    trials = trained_sample / "data/test/06_models/trials"
    folder = resolve_model(f"models:/{NAME}@champion", trials, client.tracking_uri)
    assert json.loads((folder / "run_spec.json").read_text())["trial_id"] == trial_of(trained_sample, "poi_net").name


def test_a_better_one_takes_its_place_and_is_told_beside_it(client, run_trained, runs, dev_ids, add, caplog):
    caplog.set_level("INFO")
    run_trained("champion", "sample")
    before = client.get_run(runs["poi_net"]).data.metrics["dev.accuracy"]
    better = add("better", lambda _: True)
    run_trained("champion", "sample")
    assert "is now better, seed 0 (trial better), dev.accuracy 100.0" in " ".join(caplog.text.split())
    assert f"It replaces poi_net, seed 0 (trial {client.get_run(runs['poi_net']).data.tags['trial_id']})" in caplog.text
    assert f"dev.accuracy {before:.1f}" in caplog.text
    assert client.get_model_version_by_alias(NAME, "champion").run_id == better
    add("as_good", lambda _: True)
    update_champion(client, "sample", NAME, "options", dev_ids)
    assert client.get_model_version_by_alias(NAME, "champion").run_id == better
    assert versions(client) == 2


def test_neither_another_split_nor_those_who_chose_by_dev_count(client, runs, dev_ids, add):
    add("good_elsewhere", lambda question_id: False)
    add("too_good", lambda _: True, selection="dev")
    entry = update_champion(client, "sample", NAME, "options", dev_ids)
    assert entry["champion"]["run"] == runs["poi_net"]
    assert entry["of"] == 2


def test_questions_that_a_trial_was_not_asked_count_as_wrong(client, runs, dev_ids, add):
    perfect_run = add("all_right", lambda _: True)
    entry = update_champion(client, "sample", NAME, "options", dev_ids)
    assert (entry["champion"]["run"], entry["champion"]["score"]) == (perfect_run, 100.0)
    more_ids = pa.array([*dev_ids.to_pylist(), *(f"new {n}" for n in range(len(dev_ids)))])
    entry = update_champion(client, "sample", NAME, "options", more_ids)
    assert entry["champion"]["score"] == 50.0


def test_a_benchmark_without_scored_readers_has_none(client, run_trained, trained_sample, tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'none.db'}")
    with pytest.raises(
        CoattendError, match=r"sample: no reader of it was scored.*kedro run .*--namespaces sample\.plain$"
    ):
        run_trained("champion", "sample")
    assert not (tmp_path / "none.db").exists()


def test_a_benchmark_that_asks_for_one_thing_has_one_name():
    assert registered_name("dream", "options", ("options",)) == "coattend-dream"
