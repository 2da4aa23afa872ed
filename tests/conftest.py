"""A project of its own for tests that run pipelines, in this process or as a command."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).parents[1]
TRAINED = ("poi_net", "plain_span", "aoa_reader")

# How long an input takes to draw says how busy the machine is.
settings.register_profile("coattend", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("coattend")

QUIET = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-logging=stderr",
    "--virtual-time-budget=10000",
    "--dump-dom",
]

# A shell that starts the tests in the background has them ignore Ctrl-C, and what they start inherits that.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def project(tmp_path, monkeypatch) -> Path:
    """An empty project with this one's configuration; the working folder is inside it."""
    return enter_new_project(tmp_path / "project", monkeypatch)


@pytest.fixture(scope="module")
def empty_project(tmp_path_factory) -> Iterator[Path]:
    """The same, for all tests of one file."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        yield enter_new_project(tmp_path_factory.mktemp("empty") / "project", monkeypatch)


@pytest.fixture(scope="module")
def run_empty(empty_project) -> Callable[..., Any]:
    """Runs pipelines in the project of all tests of one file."""
    return runner_in(empty_project)


@pytest.fixture
def kedro_run(project) -> Callable[..., Any]:
    """Runs pipelines in this process, in the tiny test environment."""
    return runner_in(project)


@pytest.fixture(scope="session")
def sample_tables(tmp_path_factory) -> Path:
    """The folder of the tiny sample's tables, which its pipelines make once for all tests: they only read it."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        project = enter_new_project(tmp_path_factory.mktemp("sample") / "project", monkeypatch)
        runner_in(project)("ingestion,tagging,tokenization", "sample")
    return project / "data" / "test"


@pytest.fixture(scope="session")
def trained_sample(tmp_path_factory, sample_tables) -> Path:
    """A project with readers of options, spans and words that are trained, scored and logged as models, once for all
    tests: they add what they answer, and leave the rest alone."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        project = enter_new_project(tmp_path_factory.mktemp("trained") / "project", monkeypatch)
        shutil.copytree(sample_tables, project / "data" / "test")
        run = runner_in(project)
        exact = {"benchmarks": {"sample": {"training": {"precision": "fp32"}}}, "tracking": {"models": True}}
        run("training,evaluation", ",".join(f"sample.{name}" for name in TRAINED), **exact)
    return project


@pytest.fixture
def run_trained(trained_sample, monkeypatch) -> Callable[..., Any]:
    """Runs pipelines in the project with trained readers; the working folder is inside it."""
    monkeypatch.chdir(trained_sample)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    return runner_in(trained_sample)


@pytest.fixture(scope="session")
def runs(trained_sample) -> dict[str, str]:
    """The MLflow run of each of its readers."""
    from mlflow import MlflowClient

    client = MlflowClient(f"sqlite:///{trained_sample / 'mlflow.db'}")
    experiment = client.get_experiment_by_name("sample").experiment_id
    found = client.search_runs([experiment], "tags.kind = 'trial'")
    return {run.data.tags["reader"]: run.info.run_id for run in found}


@pytest.fixture
def predict(trained_sample, run_trained) -> Callable[..., list[dict[str, Any]]]:
    """What the prediction pipeline answers to rows of JSON Lines."""

    def run(model: str, rows: list[dict[str, Any]], name: str, **more: Any) -> list[dict[str, Any]]:
        file = trained_sample / f"{name}.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        run_trained("prediction", prediction={"model": model, "input": str(file), **more})
        answers = trained_sample / f"data/test/07_model_output/predictions/{name}/answers.jsonl"
        return [json.loads(line) for line in answers.read_text().splitlines()]

    return run


@pytest.fixture(scope="module")
def shared_project(tmp_path_factory, sample_tables) -> Iterator[Path]:
    """A project that the tests of one file share, with the tiny sample's tables; the working folder is inside it."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        project = enter_new_project(tmp_path_factory.mktemp("shared") / "project", monkeypatch)
        shutil.copytree(sample_tables, project / "data" / "test")
        yield project


@pytest.fixture(scope="module")
def run_shared(shared_project) -> Callable[..., Any]:
    """Runs pipelines in the project that the tests of one file share."""
    return runner_in(shared_project)


def enter_new_project(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder.mkdir()
    shutil.copytree(ROOT / "conf", folder / "conf")
    for name in ("pyproject.toml", ".telemetry"):
        shutil.copy(ROOT / name, folder / name)
    (folder / "src").mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    return folder


def runner_in(project: Path) -> Callable[..., Any]:
    from kedro.framework.project import settings
    from kedro.framework.startup import bootstrap_project

    bootstrap_project(project)

    def run(pipelines: str = "", namespaces: str = "", env: str = "test", **params: Any) -> Any:
        with settings.SESSION_CLASS.create(project_path=project, env=env, runtime_params=params) as session:
            return session.run(
                pipeline_names=[name for name in pipelines.split(",") if name],
                namespaces=[name for name in namespaces.split(",") if name],
            )

    return run


@pytest.fixture
def kedro(project) -> Callable[..., subprocess.CompletedProcess]:
    """Runs a kedro command as a user does."""

    def command(*arguments: str, **options: Any) -> subprocess.CompletedProcess:
        environment = os.environ | {"OMP_NUM_THREADS": "1", "COLUMNS": "200"} | options.pop("environment", {})
        environment.pop("PYTHONWARNINGS", None)  # Who types the command has not silenced Python, as the Makefile does.
        return subprocess.run(
            [Path(sys.executable).parent / "kedro", *arguments],
            cwd=project,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            **options,
        )

    return command


@pytest.fixture(scope="session")
def raw() -> Path:
    """The folder with real benchmarks."""
    folder = os.environ.get("COATTEND_RAW")
    if not folder or not Path(folder, "dream", "train.json").is_file():
        pytest.skip("COATTEND_RAW names no folder with dream/train.json")
    return Path(folder)


@pytest.fixture
def dumped(tmp_path) -> Callable[[str], str]:
    """Opens an address in Chromium and gives the page as it stands then; an error on its console fails the test."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no Chromium is installed")

    def dump(address: str) -> str:
        command = [browser, *QUIET, f"--user-data-dir={tmp_path / 'profile'}", address]
        shown = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
        assert not [line for line in shown.stderr.splitlines() if "CONSOLE" in line and "Error" in line]
        return shown.stdout

    return dump
