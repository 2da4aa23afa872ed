"""Address of the MLflow store as a catalog entry, and one-line errors for a store that cannot be used."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from coattend.errors import CoattendError
from coattend.io.local_dataset import LookupDataset

if TYPE_CHECKING:
    from mlflow import MlflowClient


SQLITE_TIMEOUT_S = 10.0
"""Seconds to wait for another process that holds the SQLite store."""

_SQLITE = "sqlite:///"

QUIET_MLFLOW = {"MLFLOW_LOGGING_LEVEL": "WARNING", "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false"}
"""Environment variables that silence MLflow's notes and progress bars, unless the user sets them."""


def store_uri(file: Path) -> str:
    """Return ``MLFLOW_TRACKING_URI``, or else the address of an SQLite file, which need not exist."""
    for name, value in QUIET_MLFLOW.items():
        os.environ.setdefault(name, value)
    return os.environ.get("MLFLOW_TRACKING_URI") or f"{_SQLITE}{file}"


def client_of(store: str) -> "MlflowClient | None":
    """Return a client of a store for reading; None if its SQLite file does not exist, which is not created."""
    file = _sqlite_file(store)
    if file is not None and file.parent.is_dir() and not file.is_file():
        return None
    from mlflow import MlflowClient

    with store_errors(store, writing=False):
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
            f"MLflow's store cannot be used ({reason})",
            where=store,
            cure="End what holds it, or see to its disk, then run the same command again: what was finished is kept",
        ) from error


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
    """Loads as the address of the project's MLflow store; the tracking hooks write there.

    The SQLite file of its path is used if ``MLFLOW_TRACKING_URI`` is not set.
    """

    refusal = "is written by the tracking hooks, not saved as a whole"

    def load(self) -> str:
        """Return the address."""
        return store_uri(self.filepath)
