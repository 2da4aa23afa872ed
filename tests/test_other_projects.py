"""Hooks act in runs of this project only, in its worker processes too."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PYPROJECT = """\
[tool.kedro]
package_name = "bare"
project_name = "bare"
kedro_init_version = "1.7.0"
source_dir = "src"
"""
REGISTRY = """\
from kedro.pipeline import Pipeline, node

def fit(a: int) -> int:
    return a + 1

def register_pipelines():
    return {"__default__": Pipeline([node(fit, "params:a", "bare.model", name="fit", tags="gpu")])}
"""


@pytest.fixture
def bare(tmp_path) -> Path:
    """The smallest Kedro project, in the same Python environment."""
    for folder in ("conf/base", "conf/local", "src/bare"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text(PYPROJECT)
    (tmp_path / ".telemetry").write_text("consent: false\n")
    (tmp_path / "conf/base/parameters.yml").write_text("a: 1\n")
    (tmp_path / "conf/base/catalog.yml").write_text("bare.model: { type: json.JSONDataset, filepath: model.json }\n")
    (tmp_path / "src/bare/__init__.py").touch()
    (tmp_path / "src/bare/pipeline_registry.py").write_text(REGISTRY)
    return tmp_path


def command(project, *arguments, **environment):
    environment = {key: value for key, value in os.environ.items() if not key.startswith("COATTEND")} | environment
    kedro = Path(sys.executable).parent / "kedro"
    return subprocess.run(
        [kedro, "run", *arguments], cwd=project, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("runner", ["ParallelRunner", pytest.param("SequentialRunner", marks=pytest.mark.slow)])
def test_another_project_of_the_environment_runs_as_if_alone(bare, runner):
    completed = command(bare, "--params", "b=2", "--runner", runner, KEDRO_MP_CONTEXT="spawn")
    assert completed.returncode == 0, completed.stderr
    assert (bare / "model.json").read_text() == "2"
    assert not (bare / "mlflow.db").exists()
    assert "bare.fit" not in completed.stdout


def test_hooks_run_in_spawned_workers(project, sample_tables):
    """Each worker logs the nodes that it runs."""
    arguments = ["--env", "test", "--pipelines", "ingestion", "--namespaces", "sample", "--runner", "ParallelRunner"]
    completed = command(project, *arguments, KEDRO_MP_CONTEXT="spawn")
    assert completed.returncode == 0, completed.stderr
    for node in ("generate", "ingest", "distinct_texts"):
        assert f"sample.{node}" in completed.stdout
