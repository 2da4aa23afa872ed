"""Where MLflow keeps runs and models, as a catalog entry."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from kedro.io import AbstractDataset

from coattend.datasets.atomic import DataError, local
from coattend.errors import CoattendError

if TYPE_CHECKING:
    from mlflow import MlflowClient

PATIENCE = 10.0
"""Seconds that another process may hold an SQLite store."""

_SQLITE = "sqlite:///"

QUIET = {"MLFLOW_LOGGING_LEVEL": "WARNING", "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false"}
"""What keeps MLflow from notes on what goes well and from a bar for each file, where its user does not want them."""


def uri_of(file: Path) -> str:
    """The address of the store that ``MLFLOW_TRACKING_URI`` names, else of a file.

    Args:
        file: An SQLite file, which need not be there.
    """
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    return os.environ.get("MLFLOW_TRACKING_URI") or f"{_SQLITE}{file}"


def client_of(store: str) -> "MlflowClient | None":
    """A client of a store that answers, to look things up, or None: a file that is not there is not made.

    Args:
        store: Its address.

    Raises:
        CoattendError: If it is locked, damaged or away.
    """
    file = _file(store)
    if file is not None and file.parent.is_dir() and not file.is_file():
        return None
    from mlflow import MlflowClient

    with asking(store, writing=False):
        client = MlflowClient(store, registry_uri=store)
        client.search_experiments(max_results=1)
    return client


@contextmanager
def asking(store: str, *, writing: bool = True) -> Iterator[None]:
    """Tell of a store that is locked, full, damaged or away.

    Args:
        store: Its address.
        writing: Whether something will be written there; a store that can only be read will do otherwise.

    Raises:
        CoattendError: If MLflow, or the place where it keeps files, fails.
    """
    from mlflow.exceptions import MlflowException
    from sqlalchemy.exc import SQLAlchemyError

    try:
        if (file := _file(store)) is not None:
            _try(file, writing)
        yield
    except (MlflowException, SQLAlchemyError, sqlite3.Error, OSError) as error:
        reason = str(error).partition("\n")[0][:200]
        raise CoattendError(
            f"MLflow's store cannot be used ({reason})",
            where=store,
            cure="End what holds it, or see to its disk, then run the same command again: what was finished is kept",
        ) from error


def _file(store: str) -> Path | None:
    """The file of an SQLite store."""
    return Path(store.removeprefix(_SQLITE).partition("?")[0]) if store.startswith(_SQLITE) else None


def _try(file: Path, writing: bool) -> None:
    """Take an SQLite store for a moment: MLflow itself tries for minutes, and logs tracebacks."""
    with closing(sqlite3.connect(file, timeout=PATIENCE, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE" if writing else "BEGIN")
        connection.execute("SELECT count(*) FROM sqlite_master")
        connection.execute("ROLLBACK")


class MlflowStoreDataset(AbstractDataset[None, str]):
    """Loads as the address of a project's MLflow store; the tracking hooks write there.

    Args:
        filepath: The file of the store that is used where ``MLFLOW_TRACKING_URI`` is not set.
        metadata: Not used here; read by kedro-viz.
    """

    def __init__(self, *, filepath: str, metadata: dict[str, Any] | None = None) -> None:
        self._file = local(filepath)
        self.metadata = metadata

    def load(self) -> str:
        """The address."""
        return uri_of(self._file)

    def save(self, data: None) -> NoReturn:
        """Refuse: runs are written by the tracking hooks."""
        raise DataError("is written by the tracking hooks, not saved as a whole", where=str(self._file))

    def _exists(self) -> bool:
        return True

    def _describe(self) -> dict[str, Any]:
        return {"filepath": str(self._file)}
