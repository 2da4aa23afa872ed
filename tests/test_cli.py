"""``kedro run``: one-line errors, hooks, and Ctrl-C."""

import json
import signal
import subprocess
import sys

import pytest
from click.testing import CliRunner
from kedro.framework.startup import bootstrap_project
from kedro.io import DatasetError

from coattend.cli import cli, to_user_error
from coattend.errors import CoattendError


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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.parametrize(
    ("runner", "message"),
    [
        ("ThreadRuner", "Error: --runner ThreadRuner: there is no such runner. Did you mean 'ThreadRunner'?\n"),
        ("nothing.Runner", "Error: --runner nothing.Runner: there is no such runner. "),
    ],
)
def test_an_unknown_runner_is_one_line(shared_project, runner, message):
    result = CliRunner().invoke(cli, ["run", "--runner", runner])
    assert result.exit_code == 1
    assert result.output.startswith(message)


def test_a_reader_in_a_file_that_nothing_reads_is_not_called_unknown(project):
    file = project / "conf/local/readers/mine.yml"
    file.parent.mkdir()
    file.write_text("readers: { mine: { reader: plain } }")
    bootstrap_project(project)
    result = CliRunner().invoke(cli, ["run", "--namespaces", "sample.mine"])
    assert result.exit_code == 1
    assert "conf/local/readers/mine.yml: is not read. " in result.output
    assert result.output.endswith("or new entries to base/parameters/readers/mine.yml\n")
