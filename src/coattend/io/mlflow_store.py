"""The MLflow store: its address as a catalog entry, one-line errors if it cannot be used, artifacts that move with the
project, and addresses in MLflow's interface."""

import logging
import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit, urlunsplit

from coattend.config.project import project_folder
from coattend.errors import CoattendError
from coattend.io.local_dataset import LookupDataset
from coattend.masking import masked_text

if TYPE_CHECKING:
    from mlflow import MlflowClient


SQLITE_TIMEOUT_S = 10.0
"""Seconds to wait for another process that holds the SQLite store."""

STORE = "mlflow.db"
"""SQLite file of a project's store."""
ARTIFACTS = "mlartifacts"
"""Folder beside the SQLite store with the artifacts of experiments, each in a folder of its name."""

INTERFACE = "http://127.0.0.1:5000"
"""Address of MLflow's interface, as `make mlflow` starts it, for a store that is no server."""

NOTE = "mlflow.note.content"
"""Tag with the description of an experiment, run or model, in Markdown."""
LONGEST_TEXT = 5000
"""Characters that the store takes as a tag or a parameter."""
PARENT = "kedro run"
"""Kind of the run of a ``kedro run``, as its tag says; those of its trials are its children."""

TRIALS = "trials"
"""Key of the view of an experiment that lists its trials, best first."""
CHARTS = "charts"
"""Key of the view with charts of its trials, whose seeds are grouped by their reader."""

_SQLITE = "sqlite:///"

_REFUSED = re.compile(r"[^/\w.\- :]|/(?=/)")
"""Characters that names of metrics may not have in MLflow."""

_CORRECTIONS = tuple(
    f"UPDATE {table} SET {column} = :after || substr({column}, length(:before) + 1)"  # noqa: S608
    f" WHERE {column} = :before OR substr({column}, 1, length(:before) + 1) = :before || '/'"
    for table, column in (
        ("experiments", "artifact_location"),
        ("runs", "artifact_uri"),
        ("logged_models", "artifact_location"),
        ("model_versions", "storage_location"),
    )
)
"""Statements that correct the addresses of artifacts, which MLflow's clients cannot change."""

logger = logging.getLogger(__name__)

QUIET_MLFLOW = {"MLFLOW_LOGGING_LEVEL": "WARNING", "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false"}
"""Environment variables that silence MLflow's notes and progress bars, unless the user sets them."""


def store_uri(project: Path) -> str:
    """Return ``MLFLOW_TRACKING_URI``, or else the address of the SQLite file of a project, which need not exist."""
    for name, value in QUIET_MLFLOW.items():
        os.environ.setdefault(name, value)
    return os.environ.get("MLFLOW_TRACKING_URI") or f"{_SQLITE}{project / STORE}"


def client_of(store: str) -> "MlflowClient | None":
    """Return a client of a store for reading; None if its SQLite file does not exist, which is not created."""
    file = _sqlite_file(store)
    if file is not None and file.parent.is_dir() and not file.is_file():
        return None
    from mlflow import MlflowClient

    with store_errors(store, writing=False):
        follow_project(store)
        client = MlflowClient(store, registry_uri=store)
        client.search_experiments(max_results=1)
    return client


@contextmanager
def store_errors(store: str, *, writing: bool = True) -> Iterator[None]:
    """Turn failures of an MLflow store into a message with a cure; a read-only store is enough without ``writing``.

    Raises:
        CoattendError: If the store is locked, full, damaged or out of reach.
    """
    from mlflow.exceptions import MlflowException
    from sqlalchemy.exc import SQLAlchemyError

    try:
        if (file := _sqlite_file(store)) is not None:
            _probe_sqlite(file, writing)
        yield
    except (MlflowException, SQLAlchemyError, sqlite3.Error, OSError) as error:
        reason = str(error).partition("\n")[0][:200]
        raise CoattendError(
            f"MLflow's store cannot be used ({masked_text(reason)})",
            where=masked_text(store),
            cure="End what holds it, or see to its disk, then run the same command again: what was finished is kept",
        ) from error


def follow_project(store: str) -> None:
    """Correct the addresses of artifacts in an SQLite store if its project was moved or copied.

    MLflow keeps absolute addresses. An experiment's are corrected if its artifacts are in `ARTIFACTS` beside the store,
    and its address names another folder.
    """
    file = _sqlite_file(store)
    if file is None or not file.is_file() or not (file.parent / ARTIFACTS).is_dir():
        return
    folder = file.parent.absolute() / ARTIFACTS
    with closing(sqlite3.connect(file, timeout=SQLITE_TIMEOUT_S)) as connection:
        try:
            experiments = connection.execute("SELECT name, artifact_location FROM experiments").fetchall()
            moved = {
                location: (folder / name).as_uri()
                for name, location in experiments
                if (folder / name).is_dir() and _is_elsewhere(location, folder / name)
            }
            with connection:
                for before, after in moved.items():
                    for statement in _CORRECTIONS:
                        connection.execute(statement, {"before": before, "after": after})
        except sqlite3.OperationalError as error:
            # Another process holds the store, it can only be read, or a later MLflow keeps addresses elsewhere.
            logger.debug("addresses of artifacts in %s were not looked at: %s", file, error)
            return
    for before, after in moved.items():
        logger.info("the project was moved: MLflow finds its artifacts in %s, and no longer in %s", after, before)


def _is_elsewhere(location: str | None, folder: Path) -> bool:
    """True if an address is that of a folder of the same name in the artifacts of another project."""
    path = local_folder(location or "")
    # A project may be reached by several paths.
    if path is None or (path.is_dir() and path.samefile(folder)):
        return False
    return path.parts[-2:] == folder.parts[-2:]


def logged_name(metric: str) -> str:
    """Return the name of a metric in MLflow, which refuses some characters that names of subsets have."""
    return _REFUSED.sub("_", metric)


def is_server(store: str) -> bool:
    """Tell if a store is a server, which shows its own interface."""
    return store.startswith(("http://", "https://"))


def interface_of(store: str) -> str:
    """Return the address of the interface that shows a store, without the user and password of the store's."""
    if not is_server(store):
        return INTERFACE
    parts = urlsplit(store.rstrip("/"))
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def run_list(experiment: str) -> str:
    """Return the address of the list of an experiment's runs, below that of the interface."""
    # Without the type, MLflow opens the page of an application of language models.
    return f"#/experiments/{experiment}/runs?workflowType=machine_learning"


def view_address(experiment: str, key: str) -> str:
    """Return the address of a view of an experiment's runs, below that of the interface."""
    mode = "&compareRunsMode=CHART" if key == CHARTS else ""
    return f"{run_list(experiment)}&viewStateShareKey={key}{mode}"


def run_page(experiment: str, run: str) -> str:
    """Return the address of a run's page, below that of the interface."""
    return f"#/experiments/{experiment}/runs/{run}?workflowType=machine_learning"


def portable_uri(store: str) -> str:
    """Return the address of a store for texts that stay beside it: that of a project's own store is relative to it."""
    file = _sqlite_file(store)
    return store if file is None or file.parent != project_folder() else f"{_SQLITE}{file.name}"


def local_folder(address: str) -> Path | None:
    """Return the folder of an address of artifacts; None if it is not of this machine."""
    parts = urlsplit(address)
    return Path(unquote(parts.path)) if parts.scheme in ("", "file") else None


def _sqlite_file(store: str) -> Path | None:
    """Return the file of an SQLite store; None for other stores."""
    return Path(store.removeprefix(_SQLITE).partition("?")[0]) if store.startswith(_SQLITE) else None


def _probe_sqlite(file: Path, writing: bool) -> None:
    """Lock an SQLite store for a moment, since MLflow itself retries for minutes and logs tracebacks."""
    with closing(sqlite3.connect(file, timeout=SQLITE_TIMEOUT_S, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE" if writing else "BEGIN")
        connection.execute("SELECT count(*) FROM sqlite_master")
        connection.execute("ROLLBACK")


class MlflowStoreDataset(LookupDataset[str]):
    """Loads as the address of the project's MLflow store; the tracking hooks write there."""

    refusal = "is written by the tracking hooks, not saved as a whole"

    def __init__(self, *, metadata: dict[str, object] | None = None) -> None:
        super().__init__(filepath=str(project_folder() / STORE), metadata=metadata)

    def load(self) -> str:
        """Return the address."""
        return store_uri(self.filepath.parent)
