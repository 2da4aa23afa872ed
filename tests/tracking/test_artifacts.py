"""What MLflow shows of a trial that was trained and scored: the artifacts of its run, and its model."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from mlflow import MlflowClient

from coattend.tracking import artifacts
from coattend.tracking.artifacts import readable_predictions


@pytest.fixture
def client(trained_sample):
    return MlflowClient(f"sqlite:///{trained_sample / 'mlflow.db'}")


@pytest.fixture
def experiment(client):
    return client.get_experiment_by_name("sample").experiment_id


@pytest.fixture
def read(client, tmp_path):
    """Reads an artifact of a run."""

    def read_text(run, name):
        return Path(client.download_artifacts(run, name, str(tmp_path))).read_text(encoding="utf-8")

    return read_text


def table(trained_sample, name):
    return pq.read_table(trained_sample / "data/test" / name)


@pytest.mark.parametrize("reader", ["poi_net", "plain_span", "aoa_reader"])
def test_a_run_has_metrics_a_page_and_predictions_that_people_can_read(trained_sample, client, runs, read, reader):
    run = client.get_run(runs[reader])
    metrics = json.loads(read(runs[reader], "metrics.json"))
    assert {name: run.data.metrics[name] for name in metrics["scores"]} == metrics["scores"]
    assert metrics["trial_id"] == run.data.tags["trial_id"]
    page = read(runs[reader], "index.html")
    assert run.data.tags["trial_id"] in page and f"{reader} on sample, seed 0" in page
    rows = json.loads(read(runs[reader], "predictions.json"))
    listed = {row["question_id"]: row for row in (dict(zip(rows["columns"], row, strict=True)) for row in rows["data"])}
    answers = table(trained_sample, f"07_model_output/sample/{reader}/predictions.parquet").to_pylist()
    assert listed.keys() == {row["question_id"] for row in answers}
    for row in answers:
        shown = listed[row["question_id"]]
        assert (shown["prediction"], shown["correct"]) == (row["prediction"], row["correct"])
        if run.data.tags["task"] != "span":
            assert shown["correct"] == (shown["prediction"] == shown["gold"])
            assert shown["gold"] in shown["options"].split(" | ")
    assert json.loads(run.data.tags["mlflow.loggedArtifacts"]) == [{"path": "predictions.json", "type": "table"}]


def test_a_long_table_of_predictions_is_cut(trained_sample, monkeypatch):
    import pyarrow.dataset as pads

    monkeypatch.setattr(artifacts, "MAX_ROWS", 3)
    answers = table(trained_sample, "07_model_output/sample/poi_net/predictions.parquet")
    questions = pads.dataset(trained_sample / "data/test/02_intermediate/sample/questions.parquet")
    assert len(readable_predictions(answers, questions)["data"]) == 3 < len(answers)


def test_trials_and_their_models_are_ranked_by_one_score(client, experiment, runs):
    ranked = client.search_runs([experiment], "tags.kind = 'trial'", order_by=["metrics.score DESC"])
    scores = [run.data.metrics["score"] for run in ranked]
    assert scores == sorted(scores, reverse=True)
    leading = {"poi_net": "dev.accuracy", "plain_span": "dev.f1", "aoa_reader": "dev.accuracy"}
    for reader, metric in leading.items():
        metrics = client.get_run(runs[reader]).data.metrics
        assert metrics["score"] == pytest.approx(metrics[metric], abs=0.006)
    order = [{"field_name": "metrics.score", "ascending": False}]
    models = list(client.search_logged_models([experiment], order_by=order))
    assert {model.name for model in models} == {f"{reader}-0" for reader in leading}
    assert [metric.value for model in models for metric in model.metrics if metric.key == "score"] == scores
    by_run = {model.source_run_id: model for model in models}
    for reader in leading:
        run = client.get_run(runs[reader])
        assert by_run[runs[reader]].params == run.data.params
        assert run.data.params["reader"] == reader.removesuffix("_span")
        assert run.data.tags["entry"] == reader


def test_the_lines_of_a_run_load_its_model(trained_sample, client, runs, monkeypatch):
    import mlflow

    monkeypatch.chdir(trained_sample)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)  # MLflow sets it.
    lines = client.get_run(runs["plain_span"]).data.tags["mlflow.note.content"].split("```")[1].splitlines()[1:]
    assert len(lines) == 3
    namespace = {}
    try:
        exec("\n".join(lines), namespace)
        (answer,) = namespace["reader"].predict([{"passage": "Mary slept.", "question": "Who slept?"}])
        # The same files are shown among the artifacts of the run.
        by_run = mlflow.pyfunc.load_model(f"runs:/{runs['plain_span']}/model")
    finally:
        mlflow.set_tracking_uri(None)
    assert answer["answer"] in "Mary slept."
    assert by_run.metadata.signature == namespace["reader"].metadata.signature
