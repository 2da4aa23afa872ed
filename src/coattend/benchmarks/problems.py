"""All that is wrong with a benchmark's raw files, found at once."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from coattend.benchmarks.formats import reader_of
from coattend.benchmarks.raw import RawFile, contents
from coattend.benchmarks.reading import gather
from coattend.benchmarks.records import Rejected
from coattend.errors import CoattendError
from coattend.parameters import BenchmarkParameters

WHOLE = "the file"
"""In the place of a record, where no single one is wrong."""


def problems(benchmark: BenchmarkParameters, files: Sequence[RawFile]) -> Iterator[Rejected]:
    """Every record that would be left out, and every file that would stop the run.

    A file that stops is read up to there; what files have in common is looked for among the others.

    Args:
        benchmark: Formats, subsets and limits.
        files: Its raw files.

    Yields:
        File, record and what is wrong, file by file.
    """
    readable = []
    for file in files:
        told: list[Rejected] = []
        try:
            for path, _ in contents(file):
                records = reader_of(file.source.format, file.source.options)(
                    path, max_characters=benchmark.max_characters
                )
                told += (record for record in records if isinstance(record, Rejected))
        except CoattendError as error:
            stopped = _of_file(file, error)
            yield from told
            if stopped not in told:
                hint = f". {error.cure}" if error.cure else ""
                yield replace(stopped, reason=f"{stopped.reason}{hint}")
        else:
            readable.append(file)
    if not readable:
        return
    tables = gather(benchmark, readable)
    for table in tables.rejected:
        for row in table.to_pylist():
            yield Rejected(row["file"], row["record"], row["reason"])
    for split, count in tables.usable.items():
        if not count:
            yield Rejected(", ".join(tables.names[split]), WHOLE, f"no question of the split {split!r} can be used")


def _of_file(file: RawFile, error: CoattendError) -> Rejected:
    place = (error.where or "").removeprefix(f"{file.path}").strip(", ")
    return Rejected(file.path.name, place or WHOLE, error.problem)
