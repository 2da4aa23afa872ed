"""The sample can be learned: readers with an interaction beat what can be had without reading."""

import json

import pytest

pytestmark = pytest.mark.slow
THREADS = {"OMP_NUM_THREADS": "2"}


def scored(kedro, project, reader, *params):
    data = ("--pipelines", "ingestion,tagging,tokenization", "--namespaces", "sample")
    assert kedro("run", *data).returncode == 0
    road = ("--pipelines", "training,evaluation", "--namespaces", f"sample.{reader}")
    done = kedro("run", *road, *params, environment=THREADS)
    assert done.returncode == 0, done.stderr
    metrics = json.loads((project / f"data/07_model_output/sample/{reader}/metrics.json").read_text())
    return metrics["splits"]["dev"]["all"]


def test_options_are_learned(kedro, project):
    assert scored(kedro, project, "poi_net")["accuracy"]["low"] > 40  # Guessing scores 33.


def test_spans_are_learned(kedro, project):
    # Half as long again as by default, so that it does not hang on the processor's roundings.
    found = scored(kedro, project, "poi_net_span", "--params", "readers.poi_net_span.training.epochs=6")
    assert found["f1"]["low"] > 40  # Answering nothing scores 33.
    assert found["has_answer_f1"]["low"] > 15  # There it scores 0.
    assert found["answerability_auroc"] > 60
