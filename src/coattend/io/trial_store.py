"""Folder of all trials, as a catalog entry.

Training resumes, so a node has to read and write trials while it runs: this entry hands it the folder instead of data.
"""

from pathlib import Path
from typing import NoReturn

from kedro.io import AbstractDataset

from coattend.io.atomic import DataError, local_path


class TrialsDataset(AbstractDataset[None, Path]):
    """Loads as the path of a folder with one folder per trial, which trials write themselves.

    Args:
        filepath: The folder.
        metadata: Read by kedro-viz.
    """

    def __init__(self, *, filepath: str, metadata: dict[str, object] | None = None) -> None:
        self._folder = local_path(filepath)
        self.metadata = metadata

    def load(self) -> Path:
        """Create the folder if needed and return its path."""
        self._folder.mkdir(parents=True, exist_ok=True)
        return self._folder

    def save(self, data: None) -> NoReturn:
        """Refuse: trials save themselves."""
        raise DataError("is written by trials, not saved as a whole", where=str(self._folder))

    def _exists(self) -> bool:
        return True

    def _describe(self) -> dict[str, str]:
        return {"filepath": str(self._folder)}
