"""Readers that cannot learn, from their training to the warnings on the page and the metrics in MLflow."""

import json

import pytest
from mlflow import MlflowClient

READERS = ("plain", "plain_span", "aoa_reader")
STEPS_THAT_CHANGE_NOTHING = {"learning_rate": 1e-30}
HALF_HELD_OUT = {"held_out": 0.5, "max_length": 40}
ENOUGH = {"max_questions": 60}
"""So that enough are held out to tell that all have one answer."""


def test_readers_that_cannot_learn_raise_the_alarms(kedro_run, sample_project):
    road = {
        "benchmarks": {"sample": {"training": HALF_HELD_OUT}},
        "readers": {
            "plain": {"training": STEPS_THAT_CHANGE_NOTHING},
            "plain_span": {"training": STEPS_THAT_CHANGE_NOTHING | ENOUGH},
        },
    }
    kedro_run("training,evaluation", ",".join(f"sample.{name}" for name in READERS), **road)
    kedro_run("reporting", "sample", **road)

    page = (sample_project / "data/test/08_reporting/sample/results.md").read_text()
    assert "There are warnings" in page
    assert "Calibration, dev, options" in page
    warnings = [line for line in page.splitlines() if line.startswith("Warning, ")]
    for reader, warning in (
        ("plain, seed 0", "learned next to nothing"),
        ("plain_span, seed 0", "100.0 % of the questions held out get one and the same answer"),
        ("plain, seed 0", "too long and are not read to their end"),
        ("aoa_reader, seed 0", "do not lie in what is read"),
        ("aoa_reader, seed 0", "are unknown to it"),
    ):
        assert any(reader in line and warning in line for line in warnings), (reader, warning, warnings)

    client = MlflowClient(f"sqlite:///{sample_project / 'mlflow.db'}")
    experiments = [client.get_experiment_by_name("sample").experiment_id]
    runs = {run.data.tags["reader"]: run.data for run in client.search_runs(experiments, "tags.kind = 'trial'")}
    assert set(runs) == set(READERS)
    for name, run in runs.items():
        metrics = json.loads((sample_project / f"data/test/07_model_output/sample/{name}/metrics.json").read_text())
        signs = {f"signs.{sign}": value for sign, value in metrics["trials"][0]["signs"].items() if value is not None}
        tracked = {metric: value for metric, value in run.metrics.items() if metric.startswith("signs.")}
        assert tracked == pytest.approx(signs)
        assert run.tags["alarms"]
        scores = metrics["splits"]["dev"]["all"]
        for metric in ("ece", "aurc"):
            assert run.metrics[f"dev.{metric}"] == scores[metric]["mean"]
