"""The image holds all that a command needs; no image is built here."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from coattend.config.project import COMMIT_VARIABLE
from coattend.tracking.store import experiment_id, open_client

ROOT = Path(__file__).parents[1]
BIN = Path(sys.executable).parent


def test_hadolint_finds_nothing():
    if not (BIN / "hadolint").is_file():
        pytest.skip("hadolint is not installed")
    completed = subprocess.run([BIN / "hadolint", ROOT / "Dockerfile"], capture_output=True, text=True, check=False)
    assert (completed.returncode, completed.stdout) == (0, "")


def test_what_is_copied_is_a_project(tmp_path):
    copied = re.findall(r"^COPY (?:--\S+ )?(.+) \S+$", (ROOT / "Dockerfile").read_text(), flags=re.MULTILINE)
    names = " ".join(copied).split()
    let_in = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    assert set(names) == let_in
    for name in names:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__", "local"))
        else:
            shutil.copy(source, tmp_path / name)
    (tmp_path / "conf" / "local").mkdir()
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "src")}
    completed = subprocess.run(
        [BIN / "kedro", "registry", "list"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert completed.returncode == 0 and "study_duma_table7" in completed.stdout, completed.stderr


def test_the_image_knows_the_commit_that_it_was_built_of():
    assert f"ENV {COMMIT_VARIABLE}=${COMMIT_VARIABLE}\n" in (ROOT / "Dockerfile").read_text()
    for file in ("Dockerfile", "docs/tutorials/cluster.md"):
        (built,) = re.findall(r"docker build .*", (ROOT / file).read_text())
        assert f'--build-arg {COMMIT_VARIABLE}="$(git rev-parse HEAD)"' in built


def test_what_mlflow_is_given_outlives_the_container(tmp_path, monkeypatch, quick_store):
    """Its database and, told by the experiment that a run writes to, the place of models, pages and predictions."""
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    client = open_client(tmp_path)
    location = client.get_experiment(experiment_id(client, "dream", tmp_path)).artifact_location
    artifacts = Path(location.removeprefix("file://")).relative_to(tmp_path)
    text = (ROOT / "Dockerfile").read_text()
    (database,) = re.findall(r"MLFLOW_TRACKING_URI=sqlite:///(\S+)", text)
    for file in ("Dockerfile", "docs/tutorials/cluster.md"):
        (command,) = re.findall(r"docker run (?:.*\\\n)*.*", (ROOT / file).read_text())
        mounted = [Path(mount) for mount in re.findall(r"-v \S+?:(/[\w/]+)", command)]
        for path in (Path(database), Path("/coattend", artifacts)):
            assert any(path.is_relative_to(mount) for mount in mounted), path
