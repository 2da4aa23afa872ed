"""``kedro run``: what namespaces and nodes alone mean, and one-line errors."""

import json
import signal
import subprocess
import sys

import pytest
from kedro.framework.startup import bootstrap_project
from kedro.io import DatasetError

from coattend.cli import select, to_user_error
from coattend.errors import CoattendError


@pytest.fixture(scope="module", autouse=True)
def registered(empty_project):
    """A configured project, whose pipelines are those of this one."""
    bootstrap_project(empty_project)


@pytest.mark.parametrize(
    ("pipelines", "namespaces", "expected"),
    [
        (["ingestion"], [], (["ingestion"], [])),
        ([], ["dream.poi_net", "race"], (["dream", "race"], ["dream.poi_net", "race"])),
        ([], ["study.duma_table7.dream"], (["study_duma_table7"], ["study.duma_table7.dream"])),
        # Kedro refuses the nodes of a namespace inside another one, since it takes them twice.
        (["training"], ["dream.poi_net", "dream"], (["training"], ["dream"])),
    ],
)
def test_namespaces_alone_choose_their_pipelines(pipelines, namespaces, expected):
    assert select(pipelines, namespaces) == expected


def test_nodes_alone_choose_the_first_pipelines_that_have_them():
    assert select([], [], ["dream.ingest", "dream.poi_net.train"]).pipelines == ["ingestion", "training"]
    assert select([], [], ["dream.ingest"], cut=True).pipelines == []
    assert select([], [], ["dream.nothing"]).pipelines == []


@pytest.mark.parametrize(
    ("pipelines", "namespaces", "message"),
    [
        (["trainign"], [], r"no pipeline is called 'trainign'. Did you mean 'training'\?"),
        ([], ["draem"], r"no benchmark is called 'draem'. Did you mean 'dream'\?"),
        (["ingestion"], ["draem"], r"no benchmark is called 'draem'"),
        ([], ["study.duma_table77"], r"no study is called 'duma_table77'. Did you mean 'duma_table7'\?"),
        (
            ["training"],
            ["dream.poi_nt"],
            r"no namespace 'dream.poi_nt' in the pipelines training. Did .*'dream.poi_net'",
        ),
        (
            ["training"],
            ["dream.poi_net_span"],
            r"--namespaces dream.poi_net_span: 'poi_net_span' has no head for options",
        ),
        (["submission"], ["sample.plain"], r"in the pipelines submission. They are run for: recam, .*squad_v1"),
    ],
)
def test_unknown_names_are_refused_with_the_nearest(pipelines, namespaces, message):
    with pytest.raises(CoattendError, match=message):
        select(pipelines, namespaces)


def test_the_catalogs_errors_are_those_of_the_project_inside_them():
    inner = CoattendError("is not whole", where="texts.parquet")
    try:
        raise DatasetError("Failed while loading data") from inner
    except DatasetError as error:
        assert to_user_error(error) is inner
    assert "Run the stage that writes it again" in to_user_error(DatasetError("no such file")).message


HOOKS = """
import json, sys
from kedro.framework.hooks import hook_impl
import coattend.settings

class Listener:
    @hook_impl
    def on_pipeline_error(self, error, run_params, pipeline, catalog):
        description = [type(error).__name__, run_params["pipeline_names"], pipeline is not None, catalog is not None]
        print("ERROR HOOK", json.dumps(description))

coattend.settings.HOOKS = (Listener(),)
from coattend.__main__ import main
sys.argv = ["coattend", *sys.argv[1:]]
main()
"""


def test_error_hooks_are_called_once_with_their_arguments(project, monkeypatch):
    monkeypatch.delenv("COATTEND_RAW", raising=False)
    (project / "data/01_raw/squad").mkdir(parents=True)
    arguments = ["--env", "test", "--pipelines", "ingestion", "--namespaces", "dream"]
    completed = subprocess.run(
        [sys.executable, "-c", HOOKS, *arguments], cwd=project, capture_output=True, text=True, check=False
    )
    (line,) = [line for line in completed.stdout.splitlines() if line.startswith("ERROR HOOK")]
    name, pipeline_names, *present = json.loads(line.removeprefix("ERROR HOOK "))
    assert (name, pipeline_names, present) == ("CoattendError", ["ingestion"], [True, True])
    assert completed.returncode == 1 and completed.stderr.startswith("Error: ")


INTERRUPTED = """
import os, signal, sys
from coattend.pipelines.training import nodes
from coattend.training import run_trial

def interrupted(*arguments, **options):
    os.kill(os.getpid(), signal.SIGINT)

run_trial.train_all = interrupted
from coattend.__main__ import main
sys.argv = ["coattend", *sys.argv[1:]]
main()
"""


def test_ctrl_c_before_the_first_trial_leaves_no_tracked_run(shared_project):
    from mlflow import MlflowClient

    arguments = ["--env", "test", "--pipelines", "training", "--namespaces", "sample.plain"]
    completed = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, *arguments], cwd=shared_project, capture_output=True, text=True, check=False
    )
    assert completed.returncode in (1, 130, -signal.SIGINT), completed.stderr
    client = MlflowClient(f"sqlite:///{shared_project / 'mlflow.db'}")
    # It was interrupted before its first trial began.
    assert not client.search_runs([client.get_experiment_by_name("sample").experiment_id])
