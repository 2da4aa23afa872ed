"""Where MLflow keeps runs and models, as a catalog entry."""

import os
from pathlib import Path
from typing import Any, NoReturn

from kedro.io import AbstractDataset

from coattend.datasets.atomic import DataError, local

QUIET = {"MLFLOW_LOGGING_LEVEL": "WARNING", "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false"}
"""What keeps MLflow from notes on what goes well and from a bar for each file, where its user does not want them."""


def uri_of(file: Path) -> str:
    """The address of the store that ``MLFLOW_TRACKING_URI`` names, else of a file.

    Args:
        file: An SQLite file, which need not be there.
    """
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    return os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{file}"


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
