import subprocess
import sys

BEGIN = """
import sys
from pathlib import Path
from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore
from coattend.tracking.store import client_of, experiment_of
print("ready", flush=True)
sys.stdin.readline()
project = Path(sys.argv[1])
print(experiment_of(client_of(project), "sample", project))
"""


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
