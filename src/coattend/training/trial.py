"""A trial is its content: what decides the result hashes to its id, and its folder bears that id."""

import ast
import hashlib
import json
import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from coattend.datasets.atomic import alone
from coattend.datasets.seals import is_whole, sealed
from coattend.masking import masked_text
from coattend.text.identity import file_digest, version_of

TRAINING_VERSION = 1
"""Raised when a change to the code of training makes the same content learn something else."""

PREDICTIONS_FILE = "predictions-{key}.parquet"
"""In a trial's folder, what it answered; the key is a hash of what that depends on beside the trial."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Trial:
    """One training of one reader with one seed.

    Attributes:
        content: Everything that the result depends on, as JSON.
        store: The folder of all trials.
    """

    content: dict[str, Any]
    store: Path

    @property
    def id(self) -> str:
        """The hash of the content."""
        text = json.dumps({"training_version": TRAINING_VERSION} | self.content, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def folder(self) -> Path:
        """Where the trial keeps everything."""
        return self.store / self.id

    @property
    def checkpoints(self) -> Path:
        """Where an unfinished training keeps its state."""
        return self.folder / "checkpoints"

    @property
    def model(self) -> Path:
        """The trained reader."""
        return self.folder / "model"

    def outcome(self) -> dict[str, Any] | None:
        """What the trial came to, or None if it is not finished or its reader is not what was written."""
        outcome = record(self.folder / "outcome.json")
        return outcome if outcome and outcome["model_digest"] == digest_of_files(self.model) else None

    def finish(self, outcome: dict[str, Any]) -> dict[str, Any]:
        """Record that the trial is done. Nothing counts as done before this."""
        (self.folder / "failure.json").unlink(missing_ok=True)
        return self._write("outcome", outcome | {"model_digest": digest_of_files(self.model)})

    def fail(self, problem: str) -> dict[str, Any]:
        """Record why the trial has no result."""
        return self._write(
            "failure", {"trial_id": self.id, "seed": self.content["seed"], "failure": masked_text(problem)}
        )

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes from training the same trial; they wait and then find it done."""
        with alone(self.folder, f"trial {self.id} is being trained"):
            self._write("trial", {"trial_id": self.id} | self.content)
            yield

    def _write(self, name: str, content: dict[str, Any]) -> dict[str, Any]:
        with sealed(self.folder / f"{name}.json") as temporary:
            temporary.write_text(json.dumps(content, indent=1, sort_keys=True))
        return content


def record(file: Path) -> dict[str, Any] | None:
    """What one of a trial's JSON files says, or None if it is not there or not what was written."""
    try:
        if is_whole(file):
            return json.loads(file.read_text())
    except FileNotFoundError:
        return None
    except ValueError:
        pass
    logger.warning("%s is not what was written, and the trial is not taken as done: train it again", file)
    return None


def digest_of_files(folder: Path, *, but: str | None = None) -> str:
    """A hash of the names and contents of a folder's files.

    Args:
        folder: The folder.
        but: Name of a file that does not count.
    """
    content = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and path.name != but):
        content.update(f"{path.relative_to(folder)} {file_digest(path)}\n".encode())
    return content.hexdigest()


def digest_of_code(files: Iterable[Path]) -> str:
    """A hash of what Python files do: comments, docstrings and layout do not count."""
    content = hashlib.sha256()
    for path in sorted(files, key=lambda file: file.name):
        content.update(f"{path.name}\n{_behaviour(path, version_of(path))}\n".encode())
    return content.hexdigest()


@lru_cache(maxsize=1024)
def _behaviour(path: Path, _: tuple[int, int, int]) -> str:
    """A Python file without comments, docstrings and layout."""
    tree = ast.parse(path.read_text())
    for part in ast.walk(tree):
        if isinstance(part, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(part) is not None:
            part.body = part.body[1:] or [ast.Pass()]
    return ast.unparse(tree)
