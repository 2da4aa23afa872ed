"""The store of tracked runs holds no credential, and says of a run what its trials were trained on."""

import json
from threading import Thread

import pytest
from kedro.io import DataCatalog, MemoryDataset
from kedro.pipeline import Pipeline, node
from scored import metrics, model, prediction, question

from coattend.masking import MASK
from coattend.tracking import runs
from coattend.tracking.hooks import Tracking
from coattend.tracking.store import experiment_id, open_client, store_lock


def trial(**fields):
    content = {"benchmark": "sample", "name": "plain", "reader": "plain", "seed": 0, "trial_id": "1", "data": "d"}
    options = {"turns": 5, "hub_token": "hf_secret", "vectors": "https://me:word@host/glove.txt"}
    return content | {"head": "options", "encoder": "https://me:word@host/e", "options": options, "training": fields}


def train(tracking, trained, content):
    """Tell the hooks that a node trains a trial, which fails, as far as they hear of it."""
    tracking.before_node_run(trained)
    tracking.trial_started(content)
    tracking.trial_ended(content["trial_id"], {"failure": "cut off"})


def test_a_store_never_sees_a_credential(tmp_path, quick_store):
    from mlflow import MlflowClient

    client = MlflowClient(f"sqlite:///{tmp_path / 'mlflow.db'}")
    experiment = client.create_experiment("sample", artifact_location=(tmp_path / "artifacts").as_uri())
    parent = client.create_run(experiment).info.run_id
    run = runs.create(runs.ParentRun(client, tmp_path, "sample", parent), trial(api_key="k-1", epochs=2))
    open_run = runs.TrialRun(client, run)
    open_run.end({"failure": "https://me:word@host said no to password=open"})
    tracked_run = client.get_run(run)
    assert tracked_run.data.params["turns"] == "5"
    assert tracked_run.data.params["training.epochs"] == "2"
    assert tracked_run.data.params["hub_token"] == tracked_run.data.params["training.api_key"] == MASK
    stored = (tmp_path / "mlflow.db").read_bytes()
    for secret in (b"hf_secret", b"me:word", b"k-1", b"password=open"):
        assert secret not in stored


def test_the_run_of_a_trial_says_where_it_ran_and_on_which_version(tmp_path, quick_store):
    from mlflow import MlflowClient

    client = MlflowClient(f"sqlite:///{tmp_path / 'mlflow.db'}")
    experiment = client.create_experiment("sample", artifact_location=(tmp_path / "artifacts").as_uri())
    parent = client.create_run(experiment).info.run_id
    measures = dict.fromkeys(runs.OUTCOME_METRICS, 1.0) | {"curve": []}
    where = {"device": "NVIDIA H100", "processor": "AMD EPYC", "threads": 16, "benchmark_version": 2}
    tags = {}
    for name, outcome in {"now": measures | where, "by an earlier version": measures | {"device": "cpu"}}.items():
        run = runs.create(runs.ParentRun(client, tmp_path, "sample", parent), trial())
        runs.TrialRun(client, run).end(outcome)
        tags[name] = client.get_run(run).data.tags
    assert tags["now"].items() >= {"processor": "AMD EPYC", "threads": "16", "benchmark_version": "2"}.items()
    assert tags["by an earlier version"]["device"] == "cpu"


def test_the_run_of_a_training_that_was_continued_has_its_whole_curve(tmp_path, quick_store):
    from mlflow import MlflowClient

    client = MlflowClient(f"sqlite:///{tmp_path / 'mlflow.db'}")
    experiment = client.create_experiment("sample", artifact_location=(tmp_path / "artifacts").as_uri())
    parent = client.create_run(experiment).info.run_id
    run = runs.create(runs.ParentRun(client, tmp_path, "sample", parent), trial())
    continued = runs.TrialRun(client, run)
    continued.log(30, {"loss": 0.5})
    continued.log(30, {"held_out": 0.6})
    curve = [{"step": 10, "loss": 0.9}, {"step": 20, "held_out": 0.4}, {"step": 30, "loss": 0.5, "held_out": 0.6}]
    continued.end(dict.fromkeys(runs.OUTCOME_METRICS, 1.0) | {"device": "cpu", "curve": curve})

    def points(name):
        return [(point.step, point.value) for point in client.get_metric_history(run, name) if point.step]

    assert points("loss") == [(30, 0.5), (10, 0.9)]
    assert points("held_out") == [(30, 0.6), (20, 0.4)]
    silent = runs.create(runs.ParentRun(client, tmp_path, "sample", parent), trial())
    runs.TrialRun(client, silent).end(dict.fromkeys(runs.OUTCOME_METRICS, 1.0) | {"device": "cpu", "curve": curve})
    assert [point.value for point in client.get_metric_history(silent, "held_out")] == [0.4, 0.6, 1.0]


def test_an_experiment_that_was_deleted_in_the_interface_is_restored_with_its_runs(tmp_path, monkeypatch, quick_store):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    client = open_client(tmp_path)
    experiment = experiment_id(client, "sample", tmp_path)
    run = client.create_run(experiment).info.run_id
    client.delete_experiment(experiment)
    assert experiment_id(client, "sample", tmp_path) == experiment
    assert [found.info.run_id for found in client.search_runs([experiment])] == [run]


def test_the_parameters_of_a_run_are_masked_in_its_store(tmp_path, monkeypatch, quick_store):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.setattr("kedro.framework.project.PACKAGE_NAME", "coattend")  # Hooks act in this project only.
    from mlflow import MlflowClient

    hooks = Tracking()
    parameters = {"benchmarks.sample.hub_token": "hf_secret", "nested": {"password": "open"}, "turns": 5}
    run_params = {
        "project_path": str(tmp_path),
        "run_id": "2026-01-01",
        "pipeline_names": ["training"],
        "namespaces": [],
    }
    pipeline = Pipeline([node(len, "a", "model", name="train")], namespace="sample.plain", inputs={"a"})
    hooks.before_pipeline_run(run_params | {"env": "test", "runtime_params": parameters}, pipeline)
    train(hooks, pipeline.nodes[0], trial())
    try:
        client = MlflowClient(f"sqlite:///{tmp_path / 'mlflow.db'}")
        experiment = client.get_experiment_by_name("sample").experiment_id
        (run,) = client.search_runs([experiment], "tags.kind = 'kedro run'")
        logged = json.loads(run.data.params["runtime_params"])
    finally:
        hooks.after_pipeline_run(pipeline, DataCatalog())
    assert logged == {"benchmarks.sample.hub_token": MASK, "nested": {"password": MASK}, "turns": 5}


def catalog_of(outcomes):
    """A pipeline that trains readers, and a catalog with the hashes of the questions of their trials."""
    pipeline = Pipeline([node(len, "sample.questions", f"{name}.model", namespace=name) for name in outcomes])
    trials = {name: {"trials": [{"data": digest}, {"failure": "cut off"}]} for name, digest in outcomes.items()}
    return pipeline, DataCatalog({f"{name}.model": MemoryDataset(outcome) for name, outcome in trials.items()})


def hash_of(*hashes):
    pipeline, catalog = catalog_of({f"sample.reader_{number}": digest for number, digest in enumerate(hashes)})
    return runs.data_hash(pipeline.nodes, catalog)


def test_hashes_of_training_questions_are_combined_whatever_their_order():
    assert hash_of("a1") == hash_of("a1", "a1") == "a1"
    assert hash_of("a1", "b2") == hash_of("b2", "a1") not in ("a1", "b2")
    assert len(hash_of("a1", "b2")) == 2
    pipeline, _ = catalog_of({"sample.reader": "a1"})
    assert runs.data_hash(pipeline.nodes, DataCatalog({"sample.reader.model": MemoryDataset({"trials": []})})) is None


def test_the_run_of_a_command_says_what_its_trials_were_trained_on(tmp_path, monkeypatch, quick_store):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.setattr("kedro.framework.project.PACKAGE_NAME", "coattend")
    pipeline, catalog = catalog_of({"sample.plain": "a1", "dream.plain": "b2"})
    tracking = Tracking()
    run = {"run_id": "now", "pipeline_names": [], "namespaces": [], "env": "test", "runtime_params": {}}
    tracking.before_pipeline_run(run | {"project_path": str(tmp_path)}, pipeline)
    for trained in pipeline.nodes:
        train(tracking, trained, trial() | {"benchmark": trained.namespace.partition(".")[0]})
    tracking.after_pipeline_run(pipeline, catalog)
    client = open_client(tmp_path)
    for benchmark, data in (("sample", "a1"), ("dream", "b2")):
        experiment = client.get_experiment_by_name(benchmark).experiment_id
        (run,) = client.search_runs([experiment], "tags.kind = 'kedro run'")
        assert (run.data.tags["data_hash"], run.info.status) == (data, "FINISHED")


def test_a_run_that_others_may_write_to_is_left_alone_while_they_do(tmp_path, monkeypatch, quick_store):
    """The store refuses a tag that two processes create at once."""
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.setattr("kedro.framework.project.PACKAGE_NAME", "coattend")
    pipeline, catalog = catalog_of({"sample.plain": "a1"})
    tracking = Tracking()
    run = {"run_id": "now", "pipeline_names": [], "namespaces": [], "env": "test", "runtime_params": {}}
    tracking.before_pipeline_run(run | {"project_path": str(tmp_path)}, pipeline)
    train(tracking, pipeline.nodes[0], trial())
    client = open_client(tmp_path)
    experiment = client.get_experiment_by_name("sample").experiment_id

    def tags():
        (parent,) = client.search_runs([experiment], "tags.kind = 'kedro run'")
        return parent.data.tags

    end = Thread(target=tracking.after_pipeline_run, args=(pipeline, catalog))
    with store_lock(tmp_path):
        end.start()
        end.join(timeout=1)
        assert "data_hash" not in tags()
    end.join(timeout=60)
    assert tags()["data_hash"] == "a1"


@pytest.mark.parametrize("uri", ["", "http://127.0.0.1:9"])
def test_a_server_says_itself_where_it_keeps_artifacts(tmp_path, monkeypatch, uri):
    made = []

    class Client:
        def get_experiment_by_name(self, name):
            return None

        def create_experiment(self, name, artifact_location):
            made.append((name, artifact_location))

    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    experiment_id(Client(), "sample", tmp_path)
    assert made == [("sample", None if uri else (tmp_path / "mlartifacts" / "sample").as_uri())]


def test_a_parent_run_says_where_checkpoints_were_chosen(tmp_path, monkeypatch, quick_store):
    """Readers that are scored one after the other add to what those before them said."""
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    client = open_client(tmp_path)
    run = client.create_run(client.create_experiment("sample")).info.run_id
    parent = runs.ParentRun(client, tmp_path, "sample", run)
    for selections, told in (({""}, None), ({"held_out"}, "held_out"), ({"dev", "held_out"}, "dev, held_out")):
        runs.tag_selection(parent, selections)
        assert client.get_run(run).data.tags.get("selection") == told


def test_the_description_of_a_run_keeps_readers_that_are_not_scored_again(tmp_path, monkeypatch, quick_store):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    client = open_client(tmp_path)
    run = client.create_run(client.create_experiment("dream")).info.run_id
    parent = runs.ParentRun(client, tmp_path, "dream", run)

    def summarise(**right):
        scored = {
            name: metrics([prediction("a1", "t0", is_right)], [question("a1")], model(0, data="d") | {"reader": name})
            for name, is_right in right.items()
        }
        datasets = {f"dream.{name}.metrics": MemoryDataset(of_reader) for name, of_reader in scored.items()}
        nodes = [node(lambda: None, None, name, name=name.replace(".", "_")) for name in datasets]
        runs.summarise(parent, nodes, DataCatalog(datasets))
        return client.get_run(run).data

    summarise(plain=True, duma=True)
    data = summarise(plain=False)
    rows = ["| plain | dev.accuracy | 0.0 % | 1 seed |", "| duma | dev.accuracy | 100.0 % | 1 seed |"]
    assert data.tags["mlflow.note.content"].splitlines()[-2:] == rows
    assert [data.metrics[f"{name}.dev.accuracy"] for name in ("plain", "duma")] == [0, 100]


def test_a_run_names_the_dev_set_that_checkpoints_were_chosen_on(tmp_path, monkeypatch, quick_store):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    client = open_client(tmp_path)
    trained = model(0, selection="dev", data="d") | {"benchmark": "race"}
    scored = MemoryDataset(metrics([prediction("a1", "t0", True)], [question("a1")], trained))
    run = client.create_run(client.create_experiment("dream")).info.run_id
    score = node(lambda: None, None, "dream.plain.metrics", name="score")
    parent = runs.ParentRun(client, tmp_path, "dream", run)
    runs.summarise(parent, [score], DataCatalog({"dream.plain.metrics": scored}))
    assert client.get_run(run).data.tags["selection"] == "dev of race"
