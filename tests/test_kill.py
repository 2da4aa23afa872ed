"""A training that is killed goes on where it stopped and ends as one that never was."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from mlflow import MlflowClient

pytestmark = pytest.mark.slow

TRAIN = ("--pipelines", "training,evaluation", "--namespaces", "sample.plain", "--env", "test")
LONGER = "benchmarks.sample.training.epochs=3,benchmarks.sample.training.evaluations=6"
SMALL_DCN_PLUS = "readers.dcn_plus.hidden=16,readers.dcn_plus.pool=4,readers.dcn_plus.training.epochs=6"


def metrics(folder, reader):
    report = json.loads((folder / f"07_model_output/sample/{reader}/metrics.json").read_text())
    trial = report["trials"][0]
    points = [(point["step"], point["loss"], point["held_out"]) for point in trial["curve"]]
    return report["splits"], trial["trial_id"], trial["held_out"], points


@pytest.fixture
def data(kedro):
    completed = kedro("run", "--pipelines", "ingestion,tagging,tokenization", "--namespaces", "sample", "--env", "test")
    assert completed.returncode == 0, completed.stderr


@pytest.mark.parametrize(
    ("reader", "extra_params"), [("plain", ""), ("dcn_plus", f",{SMALL_DCN_PLUS}")], ids=["plain", "dcn_plus"]
)
def test_a_killed_training_ends_with_the_same_metrics(kedro, project, data, reader, extra_params):
    """DCN+ draws answers by lot in training and drops words: those go on as they would have, too."""
    options = ["--pipelines", "training,evaluation", "--namespaces", f"sample.{reader}", "--env", "test"]
    options += ["--params", LONGER + extra_params]
    command = [Path(sys.executable).parent / "kedro", "run", *options]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "COLUMNS": "200", "PYTHONUNBUFFERED": "1"}
    scored = 0
    with subprocess.Popen(
        command, cwd=project, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as training:
        for line in training.stdout:
            scored += "held-out" in line
            if scored == 3:  # Two checkpoints are whole, the third may be half written.
                training.send_signal(signal.SIGKILL)
                break
    results = project / "data" / "test"
    assert not list(results.glob("06_models/trials/*/outcome.json"))
    client = MlflowClient(f"sqlite:///{project / 'mlflow.db'}")
    experiment = client.get_experiment_by_name("sample").experiment_id
    assert {run.info.status for run in client.search_runs([experiment])} == {"RUNNING"}

    resumed = kedro("run", *options)
    assert resumed.returncode == 0, resumed.stderr
    assert "goes on from checkpoint-" in resumed.stdout + resumed.stderr
    assert {run.info.status for run in client.search_runs([experiment])} == {"KILLED", "FINISHED"}
    killed = metrics(results, reader)

    (results / "06_models").rename(project / "killed")
    undisturbed = kedro("run", *options)
    assert undisturbed.returncode == 0, undisturbed.stderr
    assert metrics(results, reader) == killed


@pytest.mark.parametrize("stage", ["ingestion", "tagging", "tokenization"])
def test_a_killed_stage_leaves_nothing_that_looks_finished(kedro, project, stage):
    stages = ["ingestion", "tagging", "tokenization"]
    before = stages[: stages.index(stage)]
    if before:
        assert kedro("run", "--pipelines", ",".join(before), "--namespaces", "sample", "--env", "test").returncode == 0
    command = [Path(sys.executable).parent / "kedro", "run", "--pipelines", stage, "--namespaces", "sample"]
    with subprocess.Popen(
        [*command, "--env", "test"], cwd=project, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as running:
        for line in running.stdout:
            if "(1 of" in line:
                running.send_signal(signal.SIGKILL)
                break
    for manifest in (project / "data").rglob("_manifest.json"):
        if stage != "ingestion" and manifest.parent.name == {"tagging": "tags", "tokenization": "tokens"}[stage]:
            assert not json.loads(manifest.read_text())["complete"]
    again = kedro("run", "--pipelines", ",".join([*before, stage]), "--namespaces", "sample", "--env", "test")
    assert again.returncode == 0, again.stderr


def test_ctrl_c_closes_the_runs(kedro, project, data):
    command = [Path(sys.executable).parent / "kedro", "run", *TRAIN, "--params", LONGER]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "COLUMNS": "200", "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, cwd=project, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as training:
        for line in training.stdout:
            if "held-out" in line:
                training.send_signal(signal.SIGINT)
                break
        training.communicate(timeout=60)
    assert training.returncode != 0
    client = MlflowClient(f"sqlite:///{project / 'mlflow.db'}")
    experiment = client.get_experiment_by_name("sample").experiment_id
    assert {run.info.status for run in client.search_runs([experiment])} == {"KILLED"}
