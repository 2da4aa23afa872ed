"""The raw folder, and the raw files of a benchmark in it."""

import logging
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from coattend.config import BenchmarkParameters, SourceParameters
from coattend.config.source import run_command
from coattend.data.archives import members, unzipped
from coattend.data.formats.reading import REFETCH, Readable
from coattend.errors import CoattendError
from coattend.text.hashing import file_digest

logger = logging.getLogger(__name__)

WITHHELD_SPLIT = "test"
"""The split that publishers withhold: it may be missing."""


class RawFile(NamedTuple):
    """A raw file of a benchmark, or an archive, which has no split: it may hold all splits of its source."""

    path: Path
    split: str | None
    source: SourceParameters

    @property
    def splits(self) -> set[str]:
        """The splits that it may hold."""
        return set(self.source.files) if self.split is None else {self.split}


def readable_files(file: RawFile) -> Iterator[tuple[Readable, str]]:
    """Yield a raw file with its split, unzipped if it ends in .gz, or the members of an archive that belong to its
    source."""
    if file.split is not None:
        for path in unzipped(file.path) if file.path.suffix == ".gz" else (file.path,):
            yield path, file.split
        return
    for member in members(file.path):
        for split, patterns in file.source.files.items():
            if any(member.path.match(pattern) for pattern in patterns):
                yield member, split
                break


def raw_files(benchmark: BenchmarkParameters, folder: Path) -> list[RawFile]:
    """List the raw files of a benchmark below the raw folder, in a fixed order.

    Every split needs a file in some source. A test split and an optional source may be missing, but not everything.
    """
    files: list[RawFile] = []
    for source in benchmark.sources:
        # A fallback fills the splits of its subset that no source before it has.
        present = {split for file in files if file.source.subset == source.subset for split in file.splits}
        candidates = _source_files(source, folder / source.folder)
        files += [file for file in candidates if not (source.fallback and file.splits & present)]
    if not files:
        raise _missing(benchmark, folder, next(split for source in benchmark.sources for split in source.files))
    covered = {(split, file.source.subset) for file in files for split in file.splits}
    for source in benchmark.sources:
        for split in source.files:
            if (split, source.subset) in covered:
                continue
            # One subset of a split is enough.
            in_another_subset = split in {covered_split for covered_split, _ in covered}
            if not in_another_subset and not source.optional and split != WITHHELD_SPLIT:
                raise _missing(benchmark, folder, split)
            description = f"{split} files of {source.subset}" if source.subset else f"{split} files"
            logger.info("%s: no %s in %s", benchmark.title, description, folder / source.folder)
    return files


def annotation_files(benchmark: BenchmarkParameters, folder: Path) -> list[Path]:
    """List the files with annotated question types in a fixed order."""
    sources = benchmark.sources
    return sorted({path for source in sources for path in glob_files(folder / source.folder, source.annotations)})


def glob_files(folder: Path, patterns: Iterable[str]) -> list[Path]:
    """List the files of a folder that match any of some patterns, in the order of their paths."""
    paths: set[Path] = set()
    for pattern in patterns:
        try:
            if Path(pattern).is_absolute():
                raise ValueError("it begins at the root")
            paths.update(path for path in folder.glob(pattern) if path.is_file())
        except ValueError as error:
            problem = f"{pattern!r} is not a file pattern ({error})"
            cure = "Write patterns relative to the source's folder, such as train*.json"
            raise CoattendError(problem, where=str(folder), cure=cure) from None
    return sorted(paths)


def paths_by_name(files: Iterable[RawFile]) -> dict[str, str]:
    """Map the names of raw files to their paths, relative to the working directory where they lie in it; without names
    that several files have."""
    folder = Path.cwd()
    paths = [file.path.absolute() for file in files]
    counts = Counter(path.name for path in paths)
    return {
        path.name: str(path.relative_to(folder) if path.is_relative_to(folder) else path)
        for path in paths
        if counts[path.name] == 1
    }


def raw_file_digest(path: Path) -> str:
    """Return the SHA-256 of a raw file; if it cannot be read, the error is the user's."""
    try:
        return file_digest(path)
    except OSError as error:
        raise CoattendError(f"cannot be read ({error.strerror})", where=str(path), cure=REFETCH) from error


def _source_files(source: SourceParameters, folder: Path) -> list[RawFile]:
    """List the files of a source in its folder; archives only if there are none."""
    files = [
        RawFile(path, split, source)
        for split, patterns in source.files.items()
        for path in glob_files(folder, patterns)
    ]
    return files or [RawFile(path, None, source) for path in glob_files(folder, source.archives)]


def _missing(benchmark: BenchmarkParameters, folder: Path, split: str) -> CoattendError:
    sources = [source for source in benchmark.sources if split in source.files]
    patterns = [pattern for source in sources for pattern in (*source.files[split], *source.archives)]
    folders = list(dict.fromkeys(source.folder for source in sources))
    published = f"published at {benchmark.published_at}" if benchmark.published_at else "not published"
    problem = f"{benchmark.title} has no {split} files here (looked for {', '.join(patterns)})"
    cure = f"Put its {split} files, {published}, into that folder, or set COATTEND_RAW to the folder that holds"
    if benchmark.downloads:
        command = run_command(pipelines="download", namespaces=benchmark.name)
        cure = f"Fetch them with {command}. {cure}"
    where = ", ".join(str(folder / name) for name in folders)
    return CoattendError(problem, where=where, cure=f"{cure} {folders[0]}/")
