"""Catalog entries of files and folders of this machine: the error, the path and the base of all such entries."""

import re
from pathlib import Path
from typing import ClassVar, NoReturn, TypeVar

from kedro.io import AbstractDataset, DatasetError

from coattend.config.source import run_command
from coattend.errors import CoattendError

_STAGES = {
    **dict.fromkeys(("passages", "questions", "rejected", "texts"), "ingestion"),
    **{"tags": "tagging", "tokens": "tokenization", "profile": "profile"},
    **dict.fromkeys(("predictions", "metrics", "rejected_questions"), "evaluation"),
}
"""Name of a file or folder of tables to the pipeline that writes it."""
_NAMESPACE = re.compile(r"/0[2-8]_\w+/([^/]+)(?:/([^/]+)/(?:predictions|metrics|rejected_questions)\.)?")
"""Benchmark, and reader of what was answered, in the path of a table."""

Saved = TypeVar("Saved")
Loaded = TypeVar("Loaded")


class DataError(CoattendError, DatasetError):
    """A catalog entry that cannot be read or written; Kedro shows it as one message."""


def writing_cure(deed: str, path: str | Path) -> str:
    """Say what is to be done to have a file written, with the command of its stage where its path tells it."""
    names = (part.partition(".")[0] for part in reversed(Path(path).parts))
    stage = next((_STAGES[name] for name in names if name in _STAGES), None)
    match = _NAMESPACE.search(str(path))
    namespace = ".".join(part for part in match.groups() if part) if match else ""
    return f"{deed}: {run_command(pipelines=stage, namespaces=namespace)}" if stage else deed


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
