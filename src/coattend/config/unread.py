"""Files of a configuration source, and keys of its globals, that nothing would read.

Kedro passes over a file whose name matches none of its patterns, and over a global that no other file names: what they
set would be lost without a word.
"""

import logging
import re
from collections.abc import Collection, Iterable
from pathlib import PurePosixPath
from typing import Any

from fsspec.utils import glob_translate

from coattend.config import source
from coattend.config.yaml import Lines, TextFile, load_yaml
from coattend.errors import CoattendError, did_you_mean

GLOBALS = ("published", "results", "tables")
"""Keys of ``globals.yml`` that the catalog reads."""
GLOBALS_FILE = PurePosixPath("globals.yml")
STUDIES = "studies"
"""The folder of the base environment whose files are studies, and the block of parameters that changes them."""

_REFERENCE = re.compile(r"\$\{\s*globals:\s*(\w+)")

logger = logging.getLogger(__name__)


def check_files(
    location: str, environments: Iterable[str], patterns: Collection[str], *, blocks: Collection[str]
) -> None:
    """Refuse a file that has parameters, globals or studies where none are read, with the path where they are; warn of
    others that nothing reads.

    Args:
        location: The configuration source.
        environments: The environments of the run.
        patterns: Patterns of the files that the run's loader reads, as seen from an environment's folder.
        blocks: Blocks that parameter files may have.
    """
    expressions = [re.compile(glob_translate(pattern)) for pattern in patterns]
    for file, path in source.located_files(location):
        # Beside the environments, tools have files of their own, such as logging.yml.
        if len(path.parts) == 1 and (cure := _cure(file, path, "", blocks)):
            raise CoattendError("is not read", where=str(file), cure=cure)
    for environment in environments:
        for file, path in source.located_files(location, environment):
            of_study = environment == source.BASE and path.parts[0] == STUDIES
            hidden = any(part.startswith(".") for part in path.parts)
            if hidden or of_study or any(expression.match(str(path)) for expression in expressions):
                continue
            if cure := _cure(file, path, environment, blocks):
                raise CoattendError("is not read", where=str(file), cure=cure)
            logger.warning("%s is not read: its name matches none of %s", file, ", ".join(sorted(patterns)))


def _cure(file: TextFile, path: PurePosixPath, environment: str, blocks: Collection[str]) -> str | None:
    """Say where the contents of a file would be read; None for a file that is none of this project's."""
    keys = set(_content(file))
    block = next((folder for folder in path.parts[:-1] if folder in blocks), None)
    folder = environment or source.LOCAL
    if path.stem == GLOBALS_FILE.stem or keys & set(GLOBALS):
        return f"Globals are read from {folder}/{GLOBALS_FILE}"
    if "paper" in keys or (block == STUDIES and not keys & set(blocks)):
        return f"Studies are read from {source.BASE}/{STUDIES}, in every environment: move it there"
    if not (block or keys & set(blocks)):
        return None
    target = path if path.name.startswith("parameters") else f"parameters/{path}"
    key = f", below the key {block!r}" if block and not keys & set(blocks) else ""
    new = "" if folder == source.BASE else f", or new entries to {source.BASE}/{target}"
    return f"Parameters are read from files and folders called parameters*: move it to {folder}/{target}{new}{key}"


def _content(file: TextFile) -> dict[Any, Any]:
    """The contents of a file that may be another tool's, and need not be YAML."""
    try:
        content = load_yaml(file)
    except CoattendError:
        content = None
    return content if isinstance(content, dict) else {}


def check_globals(location: str, environments: Collection[str], names: Iterable[str]) -> None:
    """Refuse names of globals that neither the catalog nor any other file of the environments reads: they are
    misspelt."""
    unknown = [name for name in names if name not in GLOBALS]
    if not unknown:
        return
    every_file = [located for environment in environments for located in source.located_files(location, environment)]
    read = {name for file, _ in every_file for name in _REFERENCE.findall(file.read_text(encoding="utf-8"))}
    for lines in (Lines.of(file) for file, path in every_file if path == GLOBALS_FILE):
        for name in unknown:
            if name not in read and lines.line_of((name,)) is not None:
                cure = did_you_mean(str(name), sorted({*GLOBALS, *read}))
                raise CoattendError("nothing reads this global", where=lines.where((name,)), cure=cure)
