"""All problems of a benchmark's raw files in one pass."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from coattend.config import BenchmarkParameters
from coattend.data.formats import format_reader
from coattend.data.formats.base import Rejection
from coattend.data.ingest import read_tables
from coattend.data.raw_files import RawFile, readable_files
from coattend.errors import CoattendError

WHOLE_FILE = "the file"
"""Location of a problem that concerns no single record."""


def collect_problems(benchmark: BenchmarkParameters, files: Sequence[RawFile]) -> Iterator[Rejection]:
    """Yield every record that ingestion would leave out, and every file that would stop it.

    A file that stops ingestion is read up to the problem; duplicates are searched among the other files.

    Args:
        benchmark: Formats, subsets and limits.
        files: Its raw files.
    """
    usable = []
    for file in files:
        rejections: list[Rejection] = []
        try:
            read = format_reader(file.source.format, file.source.options)
            for path, _ in readable_files(file):
                records = read(path, max_characters=benchmark.max_characters)
                rejections += (record for record in records if isinstance(record, Rejection))
        except CoattendError as error:
            location = (error.where or "").removeprefix(f"{file.path}").strip(", ")
            stop = Rejection(file.path.name, location or WHOLE_FILE, error.problem)
            yield from rejections
            # The line that stops the reading may be listed as a rejection already.
            if stop not in rejections:
                yield replace(stop, reason=f"{stop.reason}. {error.cure}") if error.cure else stop
        else:
            usable.append(file)
    if not usable:
        return
    tables = read_tables(benchmark, usable)
    for table in tables.rejected:
        for row in table.to_pylist():
            yield Rejection(row["file"], row["record"], row["reason"])
    for split, count in tables.usable.items():
        if not count:
            file_names = ", ".join(tables.file_names[split])
            yield Rejection(file_names, WHOLE_FILE, f"no question of the split {split!r} can be used")
