"""The folder of all trials, as a catalog entry."""

from pathlib import Path
from typing import Any, NoReturn

from kedro.io import AbstractDataset

from coattend.datasets.atomic import DataError, local


class TrialsDataset(AbstractDataset[None, Path]):
    """Loads as the folder in which every trial has a folder of its own; trials write there themselves.

    Args:
        filepath: The folder.
        metadata: Not used here; read by kedro-viz.
    """

    def __init__(self, *, filepath: str, metadata: dict[str, Any] | None = None) -> None:
        self._folder = local(filepath)
        self.metadata = metadata

    def load(self) -> Path:
        """The folder, made if it is not there."""
        self._folder.mkdir(parents=True, exist_ok=True)
        return self._folder

    def save(self, data: None) -> NoReturn:
        """Refuse: trials save themselves."""
        raise DataError("is written by trials, not saved as a whole", where=str(self._folder))

    def _exists(self) -> bool:
        return True

    def _describe(self) -> dict[str, Any]:
        return {"filepath": str(self._folder)}
