"""The artifacts of a project are found where it was moved or copied to."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from mlflow import MlflowClient

from coattend.errors import CoattendError
from coattend.io.mlflow_store import INTERFACE, client_of, interface_of, logged_name, store_errors
from coattend.tracking.store import log_changed

COLUMNS = {
    "experiments": "artifact_location",
    "runs": "artifact_uri",
    "logged_models": "artifact_location",
    "model_versions": "storage_location",
}


@pytest.fixture
def tracked(tmp_path, quick_store):
    """A project with a run and a registered model, as MLflow's own clients write them."""
    project = tmp_path / "before"
    project.mkdir()
    client = MlflowClient(f"sqlite:///{project / 'mlflow.db'}")
    folder = project / "mlartifacts" / "sample"
    experiment = client.create_experiment("sample", artifact_location=folder.as_uri())
    elsewhere = client.create_experiment("elsewhere", artifact_location=(tmp_path / "bucket/elsewhere").as_uri())
    run = client.create_run(experiment).info.run_id
    client.log_text(run, "as written", "note.txt")
    client.create_run(elsewhere)
    client.create_logged_model(experiment, "model", run)
    client.create_registered_model("registered")
    client.create_model_version("registered", f"{folder.as_uri()}/{run}/artifacts/model", run)
    return project, run


def test_metrics_of_subsets_of_any_name_are_logged_once(tracked):
    project, run = tracked
    client = MlflowClient(f"sqlite:///{project / 'mlflow.db'}")
    values = {f"dev.{subset}.accuracy": 50.0 for subset in ("grade (8)", "K&R", "a,b", "n/a", "a//b", "五年级")}
    for _ in range(2):
        log_changed(client, run, values)
    assert client.get_run(run).data.metrics.keys() == {
        f"dev.{subset}.accuracy" for subset in ("grade _8_", "K_R", "a_b", "n/a", "a_/b", "五年级")
    }
    assert {len(client.get_metric_history(run, logged_name(name))) for name in values} == {1}


def addresses(store):
    with closing(sqlite3.connect(store)) as connection:
        return [
            address
            for table, column in COLUMNS.items()
            for (address,) in connection.execute(f"SELECT {column} FROM {table}")
            if address and "mlruns" not in address
        ]


def test_artifacts_are_found_in_a_project_that_was_moved(tracked, tmp_path):
    before, run = tracked
    after = tmp_path / "moved here"
    before.rename(after)
    client = client_of(f"sqlite:///{after / 'mlflow.db'}")
    assert Path(client.download_artifacts(run, "note.txt")).read_text() == "as written"
    found = addresses(after / "mlflow.db")
    moved = [address for address in found if address.startswith((after / "mlartifacts/sample").as_uri())]
    assert len(found) == 6 and len(moved) == 4
    assert all("bucket/elsewhere" in address for address in set(found) - set(moved))


def test_a_copy_reads_its_own_artifacts_and_leaves_the_original_alone(tracked, tmp_path):
    project, run = tracked
    copy = shutil.copytree(project, tmp_path / "copy")
    before = addresses(project / "mlflow.db")
    (copy / f"mlartifacts/sample/{run}/artifacts/note.txt").write_text("in the copy")
    for folder, text in ((copy, "in the copy"), (project, "as written")):
        client = client_of(f"sqlite:///{folder / 'mlflow.db'}")
        assert Path(client.download_artifacts(run, "note.txt")).read_text() == text
    assert addresses(project / "mlflow.db") == before


def test_a_store_without_its_artifacts_beside_it_is_left_alone(tracked, tmp_path):
    project, _ = tracked
    store = shutil.copy(project / "mlflow.db", tmp_path / "mlflow.db")
    client_of(f"sqlite:///{store}")
    assert addresses(store) == addresses(project / "mlflow.db")


@pytest.mark.parametrize(
    ("store", "interface"),
    [
        ("https://me:s3cret@tracking.example:8443/mlflow/", "https://tracking.example:8443/mlflow"),
        ("http://127.0.0.1:5001", "http://127.0.0.1:5001"),
        ("sqlite:///mlflow.db", INTERFACE),
    ],
)
def test_links_to_a_server_have_no_password(store, interface):
    assert interface_of(store) == interface


def test_an_error_of_a_store_has_no_password():
    store = "postgresql://me:s3cret@tracking.example/mlflow"
    with pytest.raises(CoattendError) as error, store_errors(store):
        raise OSError(f"cannot connect to {store}")
    assert "s3cret" not in str(error.value) and "tracking.example" in str(error.value)
