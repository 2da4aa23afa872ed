"""Raw files that this project writes itself, and a summary that tells whether they are still those."""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from coattend.datasets.atomic import replacing
from coattend.errors import CoattendError
from coattend.text.identity import file_digest


def write(folder: Path, files: Iterable[tuple[str, Iterable[str | bytes]]], origin: dict[str, Any]) -> dict[str, Any]:
    """Write files one after the other.

    Args:
        folder: Where to. Other files in its sub-folders, written earlier, are removed.
        files: Name below the folder, and the pieces of its content.
        origin: Everything that decides what is written.

    Returns:
        The origin, and the SHA-256 of each file.

    Raises:
        CoattendError: If the disk refuses.
    """
    digests = {}
    try:
        for name, pieces in files:
            digests[name] = _write(folder / name, pieces)
        for stale in _present(folder) - set(digests):
            (folder / stale).unlink(missing_ok=True)
    except OSError as error:
        cure = "Check the free space and the permissions of the folder, then run the same command again"
        raise CoattendError(f"cannot be written ({error.strerror})", where=str(folder), cure=cure) from error
    return {**origin, "files": digests}


def is_written(folder: Path, origin: dict[str, Any], summary: dict[str, Any] | None) -> bool:
    """Whether the files of a summary have this origin and are intact."""
    if not summary or {key: value for key, value in summary.items() if key != "files"} != origin:
        return False
    return _present(folder) == set(summary["files"]) and all(
        file_digest(folder / name) == digest for name, digest in summary["files"].items()
    )


def summary_in(folder: Path) -> dict[str, Any] | None:
    """What the catalog holds as a benchmark's raw entry, if anything: a node cannot have its own output as input."""
    try:
        return json.loads((folder / "written.json").read_text())
    except (OSError, ValueError):
        return None


def _present(folder: Path) -> set[str]:
    """Names of the files; hidden ones are being written, by another run."""
    return {str(file.relative_to(folder)) for file in folder.glob("*/[!.]*") if file.is_file()}


def _write(path: Path, pieces: Iterable[str | bytes]) -> str:
    content = b"".join(piece if isinstance(piece, bytes) else piece.encode() for piece in pieces)
    with replacing(path) as temporary:
        temporary.write_bytes(content)
    return hashlib.sha256(content).hexdigest()
