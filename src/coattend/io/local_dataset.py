"""Catalog entries of files and folders of this machine: the error, the path and the base of all such entries."""

from pathlib import Path
from typing import ClassVar, NoReturn, TypeVar

from kedro.io import AbstractDataset, DatasetError

from coattend.errors import CoattendError

Saved = TypeVar("Saved")
Loaded = TypeVar("Loaded")


class DataError(CoattendError, DatasetError):
    """A catalog entry that cannot be read or written; Kedro shows it as one message."""


class LocalDataset(AbstractDataset[Saved, Loaded]):
    """Base of entries that are a file or folder of this machine; kedro-viz and the tracking hooks read ``metadata``."""

    def __init__(self, *, filepath: str, metadata: dict[str, object] | None = None) -> None:
        if "://" in filepath:
            raise DataError(
                "is not a path on this machine", where=filepath, cure="Mount the store, and name its folder"
            )
        self.filepath = Path(filepath)
        self.metadata = metadata

    def _exists(self) -> bool:
        return self.filepath.is_file()

    def _describe(self) -> dict[str, str]:
        return {"filepath": str(self.filepath)}


class LookupDataset(LocalDataset[None, Loaded]):
    """Base of entries that load as a handle on files, which exist or not; saving is refused with the reason."""

    refusal: ClassVar[str] = "is only read"
    cure: ClassVar[str | None] = None

    def save(self, data: None) -> NoReturn:
        """Refuse: other code writes the files."""
        raise DataError(self.refusal, where=str(self.filepath), cure=self.cure)

    def _exists(self) -> bool:
        return True
