"""Projects for tests that run pipelines, in this process or as a command.

A test takes the cheapest that serves it: `sample_tables` (read only), `trained_sample` (one for all tests, with trained
readers), `shared_project` (one for a file) or `project` (empty, for one test).
"""

import copy
import gc
import hashlib
import importlib.util
import io
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from docs._tools.browser import QUIET, find_browser
from filelock import FileLock
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).parents[1]
TRAINED = ("poi_net", "plain_span", "aoa_reader")

# Kedro tries to import ibis for each of the catalog's 1,400 parameters; where it is not installed, each try is a search
# of all folders, a quarter of a second for a run.
if importlib.util.find_spec("ibis") is None:
    sys.modules["ibis"] = None  # type: ignore[assignment]

# The time to draw an input depends on how busy the machine is: no deadline, and slow draws are no failure.
# `make test-full` and `make mutation` draw many inputs, others few.
steady = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("few", steady, max_examples=40)
settings.register_profile("many", steady, max_examples=100)
settings.load_profile("few")

# Ten virtual seconds let the page's scripts finish.
DUMPING = ("--enable-logging=stderr", "--virtual-time-budget=10000", "--dump-dom")

# Commands and workers of tests import the same modules: what the first has compiled is kept for the others, though the
# environment may say otherwise.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# A shell that starts the tests in the background makes them ignore Ctrl-C, and their child processes inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option of `make golden`."""
    parser.addoption("--write-golden", action="store_true", help="record the golden curves anew")


def pytest_configure(config: pytest.Config) -> None:
    """Add the fixtures of experiments, for the tests of batches, trials, inference and training.

    They need torch, which is not installed for every Python that the other tests are run with, and which a process that
    only distributes tests does not wait for.
    """
    distributes = bool(config.getoption("numprocesses", None)) and not hasattr(config, "workerinput")
    if importlib.util.find_spec("torch") and not distributes:
        config.pluginmanager.import_plugin("experiments")


def pytest_runtest_setup() -> None:
    """Keep what earlier tests loaded out of the search for garbage, which each training does and which would otherwise
    take half a second there."""
    gc.collect(1)
    gc.freeze()


@pytest.fixture(scope="session")
def built_once(tmp_path_factory) -> Callable[[str, Callable[[Path], None]], Path]:
    """Return a folder that the first worker to need it fills, and that all workers of this run read."""
    # Workers of pytest-xdist have folders of their own below the one that they share.
    base = tmp_path_factory.getbasetemp()
    common = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base

    def build(name: str, fill: Callable[[Path], None]) -> Path:
        # The marker is written last: a folder whose worker was interrupted is built again.
        folder, marker = common / f"shared_{name}", common / f"shared_{name}.done"
        with FileLock(common / f"shared_{name}.lock"):
            if not marker.exists():
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir()
                fill(folder)
                marker.touch()
        return folder

    return build


@pytest.fixture(scope="session")
def tiny_encoder(built_once) -> Path:
    """The folder of a BERT of two narrow layers that reads MiniLM's subwords: it trains, saves and hashes in a
    twentieth of the time, on the same tables."""
    pytest.importorskip("torch")
    return built_once("tiny_bert", write_tiny_encoder)


@pytest.fixture(scope="session")
def ready_store(built_once) -> Path:
    """An empty MLflow store whose tables MLflow's own migrations made, which takes seconds."""

    def fill(folder: Path) -> None:
        from mlflow.store.db import utils

        engine = utils.create_sqlalchemy_engine(f"sqlite:///{folder / 'mlflow.db'}")
        utils._initialize_tables(engine)
        engine.dispose()

    return built_once("store", fill) / "mlflow.db"


@pytest.fixture
def quick_store(ready_store, monkeypatch) -> None:
    """A new MLflow store in this process begins as a copy of the empty one."""
    replace_migrations(ready_store, monkeypatch)


@pytest.fixture(scope="session")
def new_project(tiny_encoder, ready_store) -> Callable[[Path, pytest.MonkeyPatch], Path]:
    """Make a project with this one's configuration and the tiny encoder in MiniLM's place, and enter it."""

    def make(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        enter_new_project(folder, monkeypatch)
        # The encoder keeps its name and its tokenizer, so that the sample's tables serve both.
        tiny = {"source": str(tiny_encoder), "layers": None}
        encoders = {"encoders": {"minilm": tiny, "minilm_4": tiny}}
        (folder / "conf" / "test" / "parameters_encoders.yml").write_text(yaml.safe_dump(encoders))
        replace_migrations(ready_store, monkeypatch)
        return folder

    return make


@pytest.fixture
def project(tmp_path, monkeypatch, new_project) -> Path:
    """An empty project with this one's configuration; the working folder is inside it."""
    return new_project(tmp_path / "project", monkeypatch)


@pytest.fixture
def project_of_minilm(tmp_path, monkeypatch, quick_store) -> Path:
    """An empty project with the real encoder, as a user has it."""
    return enter_new_project(tmp_path / "project", monkeypatch)


@pytest.fixture
def run_minilm(project_of_minilm) -> Callable[..., Any]:
    """Run pipelines in this process with the real encoder."""
    return runner_in(project_of_minilm)


@pytest.fixture(scope="module")
def empty_project(tmp_path_factory) -> Iterator[Path]:
    """An empty project with the real encoder, for all tests of one file."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        yield enter_new_project(tmp_path_factory.mktemp("empty") / "project", monkeypatch)


@pytest.fixture(scope="module")
def run_empty(empty_project) -> Callable[..., Any]:
    """Run pipelines in the project of all tests of one file."""
    return runner_in(empty_project)


@pytest.fixture(scope="session")
def run_in() -> Callable[[Path], Callable[..., Any]]:
    """Make a function that runs pipelines of a project in this process."""
    return runner_in


@pytest.fixture
def kedro_run(project) -> Callable[..., Any]:
    """Run pipelines in this process, in the tiny test environment."""
    return runner_in(project)


@pytest.fixture(scope="session")
def sample_tables(built_once) -> Path:
    """The folder of the tiny sample's tables, made once for all tests, which only read it."""

    def fill(folder: Path) -> None:
        with pytest.MonkeyPatch.context() as monkeypatch:
            runner_in(enter_new_project(folder / "project", monkeypatch))("ingestion,tagging,tokenization", "sample")

    return built_once("sample", fill) / "project" / "data" / "test"


@pytest.fixture
def sample_project(project, sample_tables) -> Path:
    """An empty project but for the tiny sample's tables; the working folder is inside it."""
    shutil.copytree(sample_tables, project / "data" / "test")
    return project


@pytest.fixture(scope="session")
def trained_sample(built_once, new_project, tmp_path_factory, sample_tables) -> Path:
    """A project with readers of options, spans and words that are trained, scored and logged as models, once for all
    tests: they may add answers, and leave the rest alone."""
    from mlflow.tracking._tracking_service import utils

    def fill(folder: Path) -> None:
        with pytest.MonkeyPatch.context() as monkeypatch:
            project = new_project(folder / "project", monkeypatch)
            shutil.copytree(sample_tables, project / "data" / "test")
            run = runner_in(project)
            # In float32, so that answers of another process or batch can be compared with those of the evaluation.
            exact = {"benchmarks": {"sample": {"training": {"precision": "fp32"}}}, "tracking": {"models": True}}
            run("training,evaluation", ",".join(f"sample.{name}" for name in TRAINED), **exact)
        utils._artifact_repos_cache.clear()  # MLflow remembers where each model was logged.

    # Each worker takes a copy, since tests add to the project's outputs and to its store.
    common = built_once("trained", fill) / "project"
    project = shutil.copytree(common, tmp_path_factory.mktemp("trained") / "project")
    move_store(project / "mlflow.db", common, project)
    return project


@pytest.fixture
def run_trained(trained_sample, monkeypatch) -> Callable[..., Any]:
    """Run pipelines in the project with trained readers; the working folder is inside it."""
    monkeypatch.chdir(trained_sample)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    return runner_in(trained_sample)


@pytest.fixture(scope="session")
def runs(trained_sample) -> dict[str, str]:
    """The MLflow run of each trained reader, by the reader's name."""
    from mlflow import MlflowClient

    client = MlflowClient(f"sqlite:///{trained_sample / 'mlflow.db'}")
    experiment = client.get_experiment_by_name("sample").experiment_id
    trial_runs = client.search_runs([experiment], "tags.kind = 'trial'")
    return {run.data.tags["reader"]: run.info.run_id for run in trial_runs}


@pytest.fixture
def predict(trained_sample, run_trained) -> Callable[..., list[dict[str, Any]]]:
    """Answers of the prediction pipeline to rows of JSON Lines."""

    def run(model: str, rows: list[dict[str, Any]], name: str, **prediction_params: Any) -> list[dict[str, Any]]:
        file = trained_sample / f"{name}.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        run_trained("prediction", prediction={"model": model, "input": str(file), **prediction_params})
        answers = trained_sample / f"data/test/07_model_output/predictions/{name}/answers.jsonl"
        return [json.loads(line) for line in answers.read_text().splitlines()]

    return run


@pytest.fixture(scope="module")
def shared_project(tmp_path_factory, new_project, sample_tables) -> Iterator[Path]:
    """A project that the tests of one file share, with the tiny sample's tables; the working folder is inside it."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        project = new_project(tmp_path_factory.mktemp("shared") / "project", monkeypatch)
        shutil.copytree(sample_tables, project / "data" / "test")
        yield project


@pytest.fixture(scope="module")
def run_shared(shared_project) -> Callable[..., Any]:
    """Run pipelines in the project that the tests of one file share."""
    return runner_in(shared_project)


def write_tiny_encoder(folder: Path, layers: int = 2) -> None:
    """Write a BERT of few layers and random weights with MiniLM's tokenizer."""
    import torch
    from transformers import BertConfig, BertModel

    from coattend.readers.encoders.pretrained import EMBEDDED, encoder_folder

    # The tokenizer stays the same, so that the sample's tables of subwords serve both encoders.
    minilm = encoder_folder(EMBEDDED)
    for file in ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt"):
        shutil.copy(minilm / file, folder / file)
    torch.manual_seed(0)
    config = BertConfig.from_pretrained(minilm)
    config.update({"num_hidden_layers": layers, "hidden_size": 32, "num_attention_heads": 4, "intermediate_size": 64})
    config.initializer_range = 0.2  # With smaller weights all words have nearly the same hidden state.
    BertModel(config).save_pretrained(folder)


def replace_migrations(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let MLflow copy the tables of a ready store where it would run its migrations."""

    def copy(engine: Any) -> None:
        with closing(sqlite3.connect(store)) as source, closing(sqlite3.connect(engine.url.database)) as target:
            source.backup(target)

    monkeypatch.setattr("mlflow.store.db.utils._initialize_tables", copy)


def move_store(store: Path, before: Path, after: Path) -> None:
    """Replace the project's former folder in the paths that an MLflow store holds."""
    with closing(sqlite3.connect(store)) as connection, connection:
        for table, column in (
            ("experiments", "artifact_location"),
            ("runs", "artifact_uri"),
            ("logged_models", "artifact_location"),
        ):
            connection.execute(f"UPDATE {table} SET {column} = replace({column}, ?, ?)", (str(before), str(after)))


def enter_new_project(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Copy this project's configuration to a new folder and change to it."""
    remember_configuration()
    folder.mkdir()
    shutil.copytree(ROOT / "conf", folder / "conf")
    for name in ("pyproject.toml", ".telemetry"):
        shutil.copy(ROOT / name, folder / name)
    (folder / "src").mkdir()  # Kedro refuses a project without its folder of sources.
    monkeypatch.chdir(folder)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    return folder


@cache
def remember_configuration() -> None:
    """Load each configuration, and build its pipelines, once in this process: most projects of tests are copies of this
    one, and reading it takes longer than most runs."""
    from kedro.config import OmegaConfigLoader
    from kedro.framework.project import pipelines
    from omegaconf import OmegaConf

    from coattend import readers
    from coattend.config import source
    from coattend.config.loader import ConfigLoader

    load, parse, find = ConfigLoader.__getitem__, OmegaConf.load, pipelines._get_pipelines_registry_callable
    read = OmegaConfigLoader.__getitem__
    loaded: dict[str, Any] = {}
    parsed: dict[str, Any] = {}
    registered: dict[str, dict[str, Any]] = {}

    def identity(location: str, *rest: Any) -> str:
        """Identify a folder of configuration by its files, which its copies share."""
        digest = hashlib.sha256()
        for path in sorted(Path(location).rglob("*")):
            digest.update(f"{path.relative_to(location)}\0".encode())
            digest.update(path.read_bytes() if path.is_file() else b"")
        return repr((digest.hexdigest(), sorted(readers.names()), *rest))

    def merge_once(self: Any, key: str) -> Any:
        """Merge `--params` into what the files say, block by block; nothing in the files refers to another block."""
        changes = self.runtime_params
        if key != "parameters" or not changes or not Path(self.conf_source).is_dir():
            return read(self, key)
        configuration = identity(self.conf_source, OmegaConfigLoader, key, self.env)
        if configuration not in loaded:
            self.runtime_params = {}
            try:
                loaded[configuration] = read(self, key)
            finally:
                self.runtime_params = changes
        merged = copy.deepcopy(loaded[configuration])
        for name, change in changes.items():
            block = {name: merged[name]} if name in merged else {}
            merged[name] = OmegaConf.to_container(OmegaConf.unsafe_merge(block, {name: change}))[name]
        return merged

    def load_once(self: Any, key: str) -> Any:
        if key in self.data or not Path(self.conf_source).is_dir():
            return load(self, key)
        # Nothing but parameters depends on those of `--params`.
        changes = self.runtime_params if key == "parameters" else {}
        configuration = identity(self.conf_source, type(self), key, self.env, changes)
        if configuration not in loaded:
            loaded[configuration] = load(self, key)
        return copy.deepcopy(loaded[configuration])

    def parse_once(file: Any) -> Any:
        if not isinstance(file, io.StringIO):
            return parse(file)
        if (text := file.read()) not in parsed:
            parsed[text] = parse(io.StringIO(text))
        return copy.deepcopy(parsed[text])

    def find_once(module: str) -> Callable[[], Any]:
        def register_once() -> Any:
            current = source.current()
            if not Path(current.location).is_dir():
                return find(module)()
            # What waits for the nodes of other pipelines depends on those that are run with it.
            requested = {*(pipelines._requested_pipelines or ())}
            together = sorted(requested) if requested & {"reporting", "results"} else []
            configuration = identity(
                current.location, module, current.readers, current.studies, current.beside, together
            )
            if configuration not in registered:
                registered[configuration] = find(module)()
            return dict(registered[configuration])

        return register_once

    ConfigLoader.__getitem__ = load_once  # type: ignore[method-assign]
    OmegaConfigLoader.__getitem__ = merge_once  # type: ignore[method-assign]
    OmegaConf.load = parse_once  # type: ignore[method-assign]
    pipelines._get_pipelines_registry_callable = find_once


def runner_in(project: Path) -> Callable[..., Any]:
    """Return a function that runs pipelines of a project in this process."""
    from kedro.framework.project import settings
    from kedro.framework.startup import bootstrap_project

    bootstrap_project(project)

    def run(pipelines: str = "", namespaces: str = "", env: str = "test", runner: Any = None, **params: Any) -> Any:
        from coattend import cli, selection

        with settings.SESSION_CLASS.create(project_path=project, env=env, runtime_params=params) as session:
            session.load_context()
            # As the project's own command does.
            names, parents = ([name for name in text.split(",") if name] for text in (pipelines, namespaces))
            chosen, within, nodes = selection.select(names, parents)
            with cli.errors_for_users():
                return session.run(pipeline_names=chosen, namespaces=within, node_names=nodes, runner=runner)

    return run


@pytest.fixture
def kedro(project) -> Callable[..., subprocess.CompletedProcess]:
    """Run a kedro command as a user does."""

    def command(*arguments: str, **options: Any) -> subprocess.CompletedProcess:
        # Two hundred columns keep messages on one line.
        environment = os.environ | {"OMP_NUM_THREADS": "1", "COLUMNS": "200"} | options.pop("environment", {})
        environment.pop("PYTHONWARNINGS", None)  # The Makefile silences Python's warnings, a user does not.
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
    """The folder with real benchmarks; tests that need it are skipped without it."""
    folder = os.environ.get("COATTEND_RAW")
    if not folder or not Path(folder, "dream", "train.json").is_file():
        pytest.skip("COATTEND_RAW names no folder with dream/train.json")
    return Path(folder)


@pytest.fixture
def dumped(tmp_path) -> Callable[[str], str]:
    """Open an address in Chromium and return the rendered page; an error on its console fails the test."""
    browser = find_browser()
    if browser is None:
        pytest.skip("no Chromium is installed")

    def dump(address: str) -> str:
        # A profile of its own: a Chromium that is already open would take the address over.
        command = [browser, *QUIET, *DUMPING, f"--user-data-dir={tmp_path / 'profile'}", address]
        completed = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
        assert not [line for line in completed.stderr.splitlines() if "CONSOLE" in line and "Error" in line]
        return completed.stdout

    return dump
