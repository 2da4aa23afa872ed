import json
import logging

import pytest

from coattend import masking
from coattend.masking import MASK, is_credential, masked, masked_text


@pytest.mark.parametrize(
    "name",
    [
        "token",
        "hf_token",
        "HF_TOKEN",
        "hub.token",
        "password",
        "db-password",
        "passwd",
        "secret",
        "client_secret",
        "clientSecret",
        "api_key",
        "apikey",
        "API-KEY",
        "aws_secret_access_key",
        "access_key",
        "private_key",
        "credential",
        "credentials",
        "authorization",
        "MLFLOW_TRACKING_PASSWORD",
        "X-Amz-Signature",
        "AWS_ACCESS_KEY_ID",
    ],
)
def test_names_that_look_like_credentials(name):
    assert is_credential(name)


@pytest.mark.parametrize(
    "name",
    [
        "tokens",
        "tokens_per_batch",
        "tokenizer",
        "tokenizers",
        "max_tokens",
        "turns",
        "key",
        "keys",
        "keyword",
        "monkey",
        "training.clip",
        "passage",
        "passages",
        "compass",
        "secretary",
        "reader.options",
        "author",
        "authors",
        "mask_tokens",
    ],
)
def test_names_of_parameters_that_do_not(name):
    assert not is_credential(name)


def test_parameters_are_masked_at_any_depth():
    parameters = {
        "a": {"hf_token": "hf_1", "turns": 5},
        "b": [{"password": 7}],
        "c": "https://me:word@host/x",
        "token": None,
    }
    assert masked(parameters) == {
        "a": {"hf_token": MASK, "turns": 5},
        "b": [{"password": MASK}],
        "c": f"https://{MASK}@host/x",
        "token": None,
    }


def test_texts_lose_addresses_assignments_and_what_the_environment_holds(monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_TOKEN", "a-long-secret-value")
    text = "GET https://me:word@host/a?token=abc&page=2 failed: a-long-secret-value, api_key=x, turns=5, see me@host"
    masked_line = masked_text(text)
    assert (
        masked_line
        == f"GET https://{MASK}@host/a?token={MASK}&page=2 failed: {MASK}, api_key={MASK}, turns=5, see me@host"
    )
    assert masked_text("nothing to hide: tokens_per_batch=1024") == "nothing to hide: tokens_per_batch=1024"


def test_short_values_of_the_environment_stay(monkeypatch):
    monkeypatch.setenv("SOME_TOKEN", "the")
    assert len("the") < masking.SHORTEST
    assert masked_text("the lamp") == "the lamp"


def trial(**fields):
    content = {"benchmark": "sample", "name": "plain", "reader": "plain", "seed": 0, "trial_id": "1", "data": "d"}
    options = {"turns": 5, "hub_token": "hf_secret", "vectors": "https://me:word@host/glove.txt"}
    return content | {"head": "options", "encoder": "https://me:word@host/e", "options": options, "training": fields}


def test_a_store_never_sees_a_credential(tmp_path, quick_store):
    from mlflow import MlflowClient

    from coattend.tracking import runs

    client = MlflowClient(f"sqlite:///{tmp_path / 'mlflow.db'}")
    experiment = client.create_experiment("sample", artifact_location=(tmp_path / "artifacts").as_uri())
    parent = client.create_run(experiment).info.run_id
    run = runs.create(client, trial(api_key="k-1", epochs=2), "sample", parent, tmp_path)
    open_run = runs.TrialRun(client, run)
    open_run.end({"failure": "https://me:word@host said no to password=open"})
    tracked_run = client.get_run(run)
    assert tracked_run.data.params["turns"] == "5"
    assert tracked_run.data.params["training.epochs"] == "2"
    assert tracked_run.data.params["hub_token"] == tracked_run.data.params["training.api_key"] == MASK
    stored = (tmp_path / "mlflow.db").read_bytes()
    for secret in (b"hf_secret", b"me:word", b"k-1", b"password=open"):
        assert secret not in stored


def test_the_parameters_of_a_run_are_masked_in_its_store(tmp_path, monkeypatch, quick_store):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.setattr("kedro.framework.project.PACKAGE_NAME", "coattend")  # Hooks act in this project only.
    from kedro.io import DataCatalog
    from kedro.pipeline import Pipeline, node
    from mlflow import MlflowClient

    from coattend.tracking.hooks import Tracking

    hooks = Tracking()
    parameters = {"benchmarks.sample.hub_token": "hf_secret", "nested": {"password": "open"}, "turns": 5}
    run_params = {
        "project_path": str(tmp_path),
        "run_id": "2026-01-01",
        "pipeline_names": ["training"],
        "namespaces": [],
    }
    pipeline = Pipeline([node(_nothing, "a", "model", name="train")], namespace="sample.plain", inputs={"a"})
    hooks.before_pipeline_run(run_params | {"env": "test", "runtime_params": parameters}, pipeline)
    try:
        client = MlflowClient(f"sqlite:///{tmp_path / 'mlflow.db'}")
        experiment = client.get_experiment_by_name("sample").experiment_id
        (run,) = client.search_runs([experiment])
        logged = json.loads(run.data.params["runtime_params"])
    finally:
        hooks.after_pipeline_run(pipeline, DataCatalog())
    assert logged == {"benchmarks.sample.hub_token": MASK, "nested": {"password": MASK}, "turns": 5}


def _nothing(a):
    return a


def test_failure_records_and_downloads_hide_credentials(tmp_path, caplog):
    from coattend.data.download import fetch
    from coattend.errors import CoattendError
    from coattend.trials.trial import Trial

    record = Trial({"seed": 0}, tmp_path).fail("no https://me:word@host/x")
    assert record["failure"] == f"no https://{MASK}@host/x"
    assert b"me:word" not in b"".join(path.read_bytes() for path in tmp_path.rglob("failure.json"))
    with caplog.at_level(logging.DEBUG), pytest.raises(CoattendError) as caught:
        fetch("http://me:word@127.0.0.1:9/x?token=abc", tmp_path / "x", wait=lambda _: None)
    assert "word" not in str(caught.value) and "abc" not in str(caught.value)
