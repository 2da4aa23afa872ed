"""An experiment opens as machine learning, with views that list trials and compare their seeds."""

import base64
import json
import zlib

import pytest

from coattend.errors import CoattendError
from coattend.io.mlflow_store import CHARTS, TRIALS
from coattend.tracking.__main__ import experiment_pages
from coattend.tracking.store import describe_experiment, open_client
from coattend.tracking.views import TAG


@pytest.fixture
def client(tmp_path, monkeypatch, quick_store):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    return open_client(tmp_path)


def state_of(tag):
    """The state of a saved view, as MLflow's interface reads it."""
    kind, _, content = json.loads(tag)["state"].partition(";")
    assert kind == "deflate"
    return json.loads(zlib.decompress(base64.b64decode(content)))


def test_an_experiment_has_a_kind_a_description_and_two_views(client, tmp_path):
    experiment = describe_experiment(client, "sample", tmp_path)
    tags = client.get_experiment(experiment).tags
    assert tags["mlflow.experimentKind"] == "custom_model_development"
    assert (
        f"#/experiments/{experiment}/runs?workflowType=machine_learning&viewStateShareKey={TRIALS}"
        in (tags["mlflow.note.content"])
    )
    trials, charts = (state_of(tags[f"{TAG}{key}"]) for key in (TRIALS, CHARTS))
    assert trials["searchFilter"] == charts["searchFilter"] == "tags.kind = 'trial'"
    assert {"metrics.`score`", "metrics.`seconds`", "tags.`reader`", "tags.`seed`"} <= set(trials["selectedColumns"])
    assert charts["groupBy"]["groupByKeys"] == [{"mode": "tag", "groupByData": "reader"}]
    assert {chart["metricKey"] for chart in charts["compareRunCharts"]} >= {"score", "loss", "held_out"}


def test_what_users_changed_stays_and_a_kind_that_mlflow_guessed_does_not(client, tmp_path):
    experiment = describe_experiment(client, "sample", tmp_path)
    client.set_experiment_tag(experiment, "mlflow.note.content", "Mine")
    client.set_experiment_tag(experiment, "mlflow.experimentKind", "genai_development_inferred")
    describe_experiment(client, "sample", tmp_path)
    tags = client.get_experiment(experiment).tags
    assert tags["mlflow.note.content"] == "Mine"
    assert tags["mlflow.experimentKind"] == "custom_model_development"


def test_the_pages_of_experiments_are_listed_once_there_are_some(client, tmp_path):
    store = f"sqlite:///{tmp_path / 'mlflow.db'}"
    with pytest.raises(CoattendError, match="nothing was tracked yet"):
        list(experiment_pages(store))
    experiment = describe_experiment(client, "sample", tmp_path)
    ((name, page),) = experiment_pages(store)
    assert name == "sample"
    assert page.startswith(f"#/experiments/{experiment}/runs?workflowType=machine_learning")
