"""The sample can be learned: readers with an interaction beat what can be had without reading."""

import json

import pytest

pytestmark = pytest.mark.slow


def scored(kedro, project, reader, **params):
    data = ("--pipelines", "ingestion,tagging,tokenization", "--namespaces", "sample")
    assert kedro("run", *data).returncode == 0
    road = ("--pipelines", "training,evaluation", "--namespaces", f"sample.{reader}")
    given = ",".join(f"readers.{reader}.{name.replace('__', '.')}={value}" for name, value in params.items())
    done = kedro("run", *road, *(("--params", given) if given else ()))
    assert done.returncode == 0, done.stderr
    metrics = json.loads((project / f"data/07_model_output/sample/{reader}/metrics.json").read_text())
    return metrics["splits"]["dev"]["all"]


def test_options_are_learned(kedro, project):
    assert scored(kedro, project, "poi_net")["accuracy"]["low"] > 40  # Guessing scores 33.


def test_spans_are_learned(kedro, project):
    # Half as long again as by default, so that it does not hang on the processor's roundings.
    found = scored(kedro, project, "poi_net_span", training__epochs=6)
    assert found["f1"]["low"] > 40  # Answering nothing scores 33.
    assert found["has_answer_f1"]["low"] > 15  # There it scores 0.
    assert found["answerability_auroc"] > 60


def test_missing_words_are_learned(kedro, project):
    assert scored(kedro, project, "aoa_reader")["accuracy"]["low"] > 40  # Guessing scores 10.


def test_spans_are_learned_without_a_pretrained_encoder(kedro, project):
    small = {"hidden": 100, "pool": 8, "dropout": 0.3}
    found = scored(kedro, project, "dcn", **small, training__epochs=12, training__learning_rate=2e-3)
    assert found["f1"]["low"] > 50  # Answering nothing scores 33.
