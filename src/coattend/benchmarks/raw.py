"""Where raw files lie, and which of them a benchmark is made of."""

import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from coattend.benchmarks.archives import members
from coattend.benchmarks.files import Readable
from coattend.errors import CoattendError
from coattend.parameters import BenchmarkParameters, SourceParameters

logger = logging.getLogger(__name__)

WITHHELD = "test"
"""The split that publishers keep back: it may be missing."""


class RawFile(NamedTuple):
    """A raw file of a benchmark, or an archive of them.

    Attributes:
        path: Where it lies.
        split: The split that it belongs to; None for an archive, which may hold all of its source's splits.
        source: What kind of file it is.
    """

    path: Path
    split: str | None
    source: SourceParameters

    @property
    def splits(self) -> set[str]:
        """The splits that it may hold."""
        return set(self.source.files) if self.split is None else {self.split}


def contents(file: RawFile) -> Iterator[tuple[Readable, str]]:
    """The files that a raw file stands for, with their splits: itself, or what an archive holds of its source.

    Raises:
        CoattendError: If an archive is broken, or holds what no benchmark's archive holds.
    """
    if file.split is not None:
        yield file.path, file.split
        return
    for member in members(file.path):
        for split, patterns in file.source.files.items():
            if any(member.inside.match(pattern) for pattern in patterns):
                yield member, split
                break


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
        CoattendError: If a split has no file in any source. A test split and an optional source may be missing, but not
            everything.
    """
    files: list[RawFile] = []
    for source in benchmark.sources:
        served = {split for file in files if file.source.subset == source.subset for split in file.splits}
        found = _source_files(source, folder / source.folder)
        files += [file for file in found if not (source.fallback and file.splits & served)]
    served = {(split, file.source.subset) for file in files for split in file.splits}
    for source in benchmark.sources:
        for split in source.files:
            if (split, source.subset) in served:
                continue
            found = any(split == one for one, _ in served)
            if not found and not source.optional and (split != WITHHELD or not files):
                raise _missing(benchmark, folder, split)
            part = f"{split} files of {source.subset}" if source.subset else f"{split} files"
            logger.info("%s: no %s in %s", benchmark.title, part, folder / source.folder)
    return files


def annotation_files(benchmark: BenchmarkParameters, folder: Path) -> list[Path]:
    """The files with the types of questions that there are, in a fixed order."""
    found = (
        path
        for source in benchmark.sources
        for pattern in source.annotations
        for path in matches(folder / source.folder, pattern)
    )
    return sorted(set(found))


def _source_files(source: SourceParameters, folder: Path) -> list[RawFile]:
    """Files as they lie in the folder; archives only where there are none."""
    files = [
        RawFile(path, split, source)
        for split, patterns in source.files.items()
        for path in sorted({path for pattern in patterns for path in matches(folder, pattern)})
    ]
    archives = sorted({path for pattern in source.archives for path in matches(folder, pattern)})
    return files or [RawFile(path, None, source) for path in archives]


def matches(folder: Path, pattern: str) -> list[Path]:
    """The files of a folder that a pattern matches.

    Raises:
        CoattendError: If it is not a pattern.
    """
    try:
        if Path(pattern).is_absolute():
            raise ValueError("it begins at the root")
        return [path for path in folder.glob(pattern) if path.is_file()]
    except ValueError as error:
        problem = f"{pattern!r} is not a file pattern ({error})"
        cure = "Write patterns relative to the source's folder, such as train*.json"
        raise CoattendError(problem, where=str(folder), cure=cure) from None


def _missing(benchmark: BenchmarkParameters, folder: Path, split: str) -> CoattendError:
    sources = [source for source in benchmark.sources if split in source.files]
    looked_for = [name for source in sources for name in (*source.files[split], *source.archives)]
    folders = list(dict.fromkeys(source.folder for source in sources))
    published = f"published at {benchmark.published_at}" if benchmark.published_at else "not published"
    return CoattendError(
        f"{benchmark.title} has no {split} files here (looked for {', '.join(looked_for)})",
        where=", ".join(str(folder / name) for name in folders),
        cure=(
            f"Put its {split} files, {published}, into that folder, "
            f"or set COATTEND_RAW to the folder that holds {folders[0]}/"
        ),
    )
