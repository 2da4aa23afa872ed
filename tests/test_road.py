"""From raw text to a compared, tracked reader, on a tiny sample."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from mlflow import MlflowClient

from coattend.errors import CoattendError

DATA = "ingestion,tagging,tokenization"


@pytest.fixture
def results(project) -> Path:
    return project / "data" / "test"


def trials(results):
    return sorted(path.parent.name for path in (results / "06_models" / "trials").glob("*/outcome.json"))


def written(results):
    return {path: path.stat().st_mtime_ns for path in (results / "06_models" / "trials").rglob("model.safetensors")}


def runs(project, query=""):
    client = MlflowClient(f"sqlite:///{project / 'mlflow.db'}")
    experiments = [one.experiment_id for one in client.search_experiments()]
    return client.search_runs(experiments, query)


def test_the_whole_road(kedro_run, project, results):
    kedro_run(DATA, "sample")
    kedro_run("training,evaluation", "sample.plain,sample.poi_net_span")
    kedro_run("reporting", "sample")

    predictions = pq.read_table(results / "07_model_output/sample/plain/predictions.parquet")
    questions = pq.read_table(project / "data/02_intermediate/sample/questions.parquet").to_pylist()
    asked = {q["question_id"] for q in questions if q["task"] == "options" and q["split"] == "dev"}
    assert set(predictions.column("question_id").to_pylist()) == asked
    metrics = json.loads((results / "07_model_output/sample/plain/metrics.json").read_text())
    accuracy = metrics["splits"]["dev"]["all"]["accuracy"]
    assert 0 <= accuracy["low"] <= accuracy["mean"] <= accuracy["high"] <= 100
    page = (results / "08_reporting/sample/index.html").read_text()
    assert "poi_net_span" in page
    assert "not run" in page
    assert metrics["trials"][0]["tagger"] in page

    assert {run.info.status for run in runs(project)} == {"FINISHED"}
    children = runs(project, "tags.kind = 'trial'")
    assert {run.data.tags["reader"] for run in children} == {"plain", "poi_net_span"}
    for child in children:
        assert child.data.tags["mlflow.parentRunId"] in {run.info.run_id for run in runs(project)}
        assert child.data.tags["trial_id"] in trials(results)
        assert {"seconds", "held_out", "loss"} <= set(child.data.metrics)
        assert "training.learning_rate" in child.data.params
    plain = next(run for run in children if run.data.tags["reader"] == "plain")
    assert plain.data.metrics["dev.accuracy"] == pytest.approx(accuracy["mean"])


def test_only_what_changed_is_trained(kedro_run, results):
    kedro_run(DATA, "sample")
    kedro_run("training", "sample.plain")
    first, before = trials(results), written(results)
    kedro_run("training", "sample.plain")
    assert written(results) == before
    kedro_run("training", "sample.plain", readers={"plain": {"training": {"learning_rate": 1e-3}}})
    assert set(first) < set(trials(results))
    assert len(trials(results)) == 2
    assert {path: time for path, time in written(results).items() if path in before} == before


def test_the_same_seed_learns_the_same(kedro_run, results, project):
    kedro_run(DATA, "sample")
    kedro_run("training,evaluation", "sample.poi_net")
    table = results / "07_model_output/sample/poi_net/predictions.parquet"
    first = pq.read_table(table)
    (results / "06_models" / "trials").rename(project / "elsewhere")
    kedro_run("training,evaluation", "sample.poi_net")
    assert pq.read_table(table).equals(first)


def test_a_failed_trial_says_why_and_leaves_nothing_running(kedro_run, project, results):
    kedro_run(DATA, "sample")
    with pytest.raises(CoattendError, match="loss became"):
        kedro_run("training", "sample.plain", readers={"plain": {"training": {"learning_rate": 1e30}}})
    assert len(list((results / "06_models" / "trials").glob("*/failure.json"))) == 1
    assert not trials(results)
    assert {run.info.status for run in runs(project)} == {"FAILED"}


def test_data_stages_leave_no_run(kedro_run, project):
    kedro_run(DATA, "sample")
    assert not (project / "mlflow.db").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"pipelines": "trainign"}, "Did you mean 'training'"),
        ({"pipelines": "training", "namespaces": "dreem"}, "Did you mean 'dream'"),
        ({"pipelines": "training", "namespaces": "dream.poinet"}, "Did you mean 'dream.poi_net'"),
        ({"pipelines": "training", "readers": {"poinet": {"turns": 5}}}, "Did you mean 'poi_net'"),
        ({"pipelines": "training", "namespaces": "sample.poi_net", "readers": {"poi_net": {"turn": 5}}}, "turns"),
        ({"pipelines": "ingestion", "namespaces": "sample", "benchmarks": {"sample": {"shard": 5}}}, "shard"),
        ({"pipelines": "training", "namespaces": "sample.plain", "readers": {"plain": {"training": {"lr": 1}}}}, "lr"),
    ],
)
def test_a_misspelt_name_is_refused_with_the_right_one(kedro_run, arguments, message):
    with pytest.raises(CoattendError, match=message):
        kedro_run(**arguments)
