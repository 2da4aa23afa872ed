"""A project of its own for tests that run pipelines, in this process or as a command."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]

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
