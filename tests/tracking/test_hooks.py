import pickle
import subprocess
import sys
from pathlib import Path
from threading import Barrier, Thread

import pytest
from kedro.framework import project
from kedro.io import DataCatalog
from kedro.pipeline import Pipeline, node

from coattend.serving.mlflow_model import describe_commit
from coattend.tracking.hooks import Tracking
from coattend.tracking.store import common_tags, open_client

BEGIN = """
import sys
from pathlib import Path
from pathlib import Path
from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore
from coattend.tracking.store import experiment_id, open_client
print("ready", flush=True)
sys.stdin.readline()
project = Path(sys.argv[1])
print(experiment_id(open_client(project), "sample", project))
"""


@pytest.fixture(autouse=True)
def _configured(monkeypatch):
    """Hooks act in this project only."""
    monkeypatch.setattr(project, "PACKAGE_NAME", "coattend")


RUN = {"run_id": "now", "pipeline_names": [], "namespaces": [], "env": "test", "runtime_params": {}}


@pytest.mark.slow
def test_runs_that_begin_at_once_share_a_new_store(tmp_path, monkeypatch):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    runs = [subprocess.Popen([sys.executable, "-c", BEGIN, str(tmp_path)], **pipes) for _ in range(3)]
    assert [run.stdout.readline() for run in runs] == ["ready\n"] * 3
    for run in runs:
        run.stdin.write("\n")
        run.stdin.flush()
    experiments = [run.communicate(timeout=120)[0] for run in runs]
    assert experiments == ["1\n"] * 3


def trial_on(benchmark, seed):
    fields = {
        "trial_id": f"{benchmark}{seed}",
        "name": "plain",
        "reader": "plain",
        "benchmark": benchmark,
        "seed": seed,
    }
    return fields | {"head": "options", "encoder": "embedded", "options": {}, "training": {}}


def test_nodes_that_run_at_once_track_their_trials_each_in_its_experiment_and_so_do_their_workers(
    tmp_path, monkeypatch, quick_store
):
    """With ThreadRunner; a worker is sent its node's listener while the other's trial is open here."""
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    names = ("dream", "race")
    nodes = {name: node(len, f"{name}.questions", f"{name}.plain.model", namespace=f"{name}.plain") for name in names}
    tracking, barrier = Tracking(), Barrier(len(names))
    pipeline = Pipeline(list(nodes.values()))
    tracking.before_pipeline_run(RUN | {"project_path": str(tmp_path)}, pipeline)

    def train(name):
        tracking.before_node_run(nodes[name])
        barrier.wait()
        tracking.trial_started(trial_on(name, 0))
        barrier.wait()
        sent = pickle.loads(pickle.dumps(tracking))
        sent.trial_started(trial_on(name, 1))
        sent.trial_ended(f"{name}1", {"failure": "cut off"})

    threads = [Thread(target=train, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    tracking.after_pipeline_run(pipeline, DataCatalog())
    client = open_client(tmp_path)
    for name in names:
        runs = client.search_runs([client.get_experiment_by_name(name).experiment_id], "tags.kind = 'trial'")
        assert {run.data.tags["trial_id"] for run in runs} == {f"{name}0", f"{name}1"}


def test_without_git_the_environment_names_the_commit(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("COATTEND_GIT_SHA", raising=False)
    assert "git_sha" not in common_tags(tmp_path)
    monkeypatch.setenv("COATTEND_GIT_SHA", "abc123")
    assert common_tags(tmp_path)["git_sha"] == "abc123"


def test_a_commit_with_changes_is_told_from_one_without(tmp_path):
    def git(*command):
        subprocess.run(["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b", *command], check=True)

    (tmp_path / "conf").mkdir()
    (tmp_path / "conf/a.yml").write_text("a: 1\n")
    git("init", "--quiet")
    git("add", ".")
    git("commit", "--quiet", "-m", "Begin")
    (tmp_path / "mine.jsonl").write_text("{}\n")
    assert common_tags(tmp_path)["git_dirty"] == "false"
    (tmp_path / "conf/b.yml").write_text("b: 1\n")
    changed = common_tags(tmp_path)
    assert changed["git_dirty"] == "true" and len(changed["git_sha"]) == 40
    assert describe_commit(changed) == f"{changed['git_sha']} with changes that were not committed"


def test_a_run_in_which_all_was_done_before_leaves_no_run_and_renews_the_page_of_the_one_before(
    run_trained, trained_sample
):
    client = open_client(trained_sample)
    experiment = client.get_experiment_by_name("sample").experiment_id
    before = {run.info.run_id: run.info.status for run in client.search_runs([experiment])}
    exact = {"benchmarks": {"sample": {"training": {"precision": "fp32"}}}}
    run_trained("training,evaluation", "sample.poi_net", **exact)
    run_trained("reporting", "sample")
    assert {run.info.run_id: run.info.status for run in client.search_runs([experiment])} == before
    (parent,) = client.search_runs([experiment], "tags.kind = 'kedro run'")
    assert "poi_net" in Path(client.download_artifacts(parent.info.run_id, "results/index.html")).read_text()
    # The environment of tests logs no models; that of the run before stays.
    (trial,) = client.search_runs([experiment], "tags.kind = 'trial' and tags.reader = 'poi_net'")
    assert "mlflow.pyfunc.load_model" in trial.data.tags["mlflow.note.content"]
    mean = parent.data.metrics["poi_net.dev.accuracy"]
    assert f"| poi_net | dev.accuracy | {mean:.1f} % | 1 seed |" in parent.data.tags["mlflow.note.content"]
    # The description of all readers stays, though this command scored one of them.
    assert {name.partition(".")[0] for name in parent.data.metrics} > {"poi_net"}
    assert all(
        f"\n| {name.partition('.')[0]} | " in parent.data.tags["mlflow.note.content"] for name in parent.data.metrics
    )
