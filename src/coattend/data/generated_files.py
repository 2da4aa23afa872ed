"""Raw files that this project writes itself, with a manifest that tells if they are still current."""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import TypedDict

from coattend.io.atomic import atomic_write, disk_errors
from coattend.text.hashing import file_digest


class Origin(TypedDict, total=False):
    """Everything that decides about the content of generated files: settings and hashes."""

    settings: dict[str, object]
    # Of the synthetic sample: its code.
    generator: str
    # Of questions about books: the books by name, their tagger, and the code.
    books: dict[str, str]
    tagger: str
    code: str


class Manifest(Origin):
    """The origin of generated files and their SHA-256 by name, as it is stored."""

    files: dict[str, str]


def write_files(folder: Path, files: Iterable[tuple[str, Iterable[str | bytes]]], origin: Origin) -> Manifest:
    """Write files, each a name below the folder and the parts of its content, and remove all others of its subfolders,
    which would be read, too."""
    digests = {}
    with disk_errors(folder):
        for name, parts in files:
            content = b"".join(part if isinstance(part, bytes) else part.encode() for part in parts)
            with atomic_write(folder / name) as temporary:
                temporary.write_bytes(content)
            digests[name] = hashlib.sha256(content).hexdigest()
        for stale in _present(folder) - set(digests):
            (folder / stale).unlink(missing_ok=True)
    return {**origin, "files": digests}


def is_current(folder: Path, origin: Origin, manifest: Manifest | None) -> bool:
    """Check that the files of a manifest have this origin and are intact."""
    if not manifest or {key: value for key, value in manifest.items() if key != "files"} != origin:
        return False
    return _present(folder) == set(manifest["files"]) and all(
        file_digest(folder / name) == digest for name, digest in manifest["files"].items()
    )


def read_manifest(folder: Path) -> Manifest | None:
    """Read the stored manifest of a benchmark, if any.

    It is the catalog's raw entry, which the node that writes the files cannot have as an input, too.
    """
    try:
        manifest: Manifest = json.loads((folder / "written.json").read_text())
    except (OSError, ValueError):
        return None
    return manifest


def _present(folder: Path) -> set[str]:
    # Hidden files are being written by another run.
    return {str(file.relative_to(folder)) for file in folder.glob("*/[!.]*") if file.is_file()}
