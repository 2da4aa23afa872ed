"""Credentials are masked in names, parameters, texts, records of failures and messages of downloads."""

import logging

import pytest

from coattend import masking
from coattend.masking import MASK, is_credential, masked, masked_text

CREDENTIALS = [
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
]
OTHER_NAMES = [
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
]


def test_names_of_credentials_are_told_from_those_of_parameters():
    assert [name for name in CREDENTIALS if not is_credential(name)] == []
    assert [name for name in OTHER_NAMES if is_credential(name)] == []


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


def test_the_working_folder_is_no_credential(monkeypatch):
    monkeypatch.setenv("PWD", "the/folder/of/the/shell")
    assert masked_text("sqlite:///the/folder/of/the/shell/mlflow.db") == "sqlite:///the/folder/of/the/shell/mlflow.db"
    assert masked_text("see http://host/x?pwd=12") == f"see http://host/x?pwd={MASK}"


def test_scripts_of_pages_stay_as_they_are():
    from plotly.offline import get_plotlyjs

    script = get_plotlyjs()
    assert masked_text(script) == script


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
