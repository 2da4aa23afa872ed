"""Where raw files lie, and which of them a benchmark is made of."""

import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from coattend.errors import CoattendError
from coattend.parameters import BenchmarkParameters, SourceParameters

logger = logging.getLogger(__name__)

WITHHELD = "test"
"""The split that publishers keep back: it may be missing."""


class RawFile(NamedTuple):
    """A raw file of a benchmark."""

    path: Path
    split: str
    source: SourceParameters


def raw_folder(project: Path, *, generated: bool = False) -> Path:
    """The folder that the folders of all benchmarks lie in.

    Args:
        project: The project's folder.
        generated: Whether the files are generated: those always lie inside the project.

    Returns:
        The folder that ``COATTEND_RAW`` names, or ``data/01_raw`` of the project.
    """
    named = os.environ.get("COATTEND_RAW")
    return Path(named).expanduser() if named and not generated else project / "data" / "01_raw"


def raw_files(benchmark: BenchmarkParameters, folder: Path) -> list[RawFile]:
    """The raw files of a benchmark, in a fixed order.

    Args:
        benchmark: Its parameters.
        folder: The raw folder.

    Raises:
        CoattendError: If a split of a source has no file. A test split and an optional source may be missing.
    """
    return [file for source in benchmark.sources for file in _source_files(benchmark, source, folder)]


def _source_files(benchmark: BenchmarkParameters, source: SourceParameters, folder: Path) -> Iterator[RawFile]:
    for split, patterns in source.files.items():
        found = {path for pattern in patterns for path in _matches(folder / source.folder, pattern)}
        if not found and not source.optional and split != WITHHELD:
            raise _missing(benchmark, folder / source.folder, split, patterns)
        if not found:
            logger.info("%s: no %s files in %s", benchmark.title, split, folder / source.folder)
        for path in sorted(found):
            yield RawFile(path, split, source)


def _matches(folder: Path, pattern: str) -> list[Path]:
    try:
        return [path for path in folder.glob(pattern) if path.is_file()]
    except (ValueError, NotImplementedError) as error:
        problem = f"{pattern!r} is not a file pattern ({error})"
        cure = "Write patterns relative to the source's folder, such as train*.json"
        raise CoattendError(problem, where=str(folder), cure=cure) from None


def _missing(benchmark: BenchmarkParameters, folder: Path, split: str, patterns: list[str]) -> CoattendError:
    published = f"published at {benchmark.published_at}" if benchmark.published_at else "not published"
    return CoattendError(
        f"{benchmark.title} has no {split} files here (looked for {', '.join(patterns)})",
        where=str(folder),
        cure=(
            f"Put its {split} files, {published}, into that folder, "
            f"or set COATTEND_RAW to the folder that holds {folder.name}/"
        ),
    )
