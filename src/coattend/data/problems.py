"""Problems of raw files, and what each keeps from: records that are left out, and files that stop a run."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from coattend.config import BenchmarkParameters
from coattend.data.formats import format_reader
from coattend.data.formats.base import Rejection
from coattend.data.formats.dream import read_annotations
from coattend.data.ingest import ONE_GROUP, read_tables
from coattend.data.raw_files import RawFile, readable_files
from coattend.errors import CoattendError

NO_PATHS: Mapping[str, str] = MappingProxyType({})
MAX_KINDS = 20
"""Kinds of problems with a line each."""
OTHER_KINDS = "others"
_VARIABLE_PART = re.compile(r"'[^']*'|\"[^\"]*\"|[0-9][0-9,]*")

WHOLE_FILE = "the file"
"""Location of a problem that concerns no single record."""


@dataclass(frozen=True)
class Problem(Rejection):
    """A problem of raw files, and its consequence."""

    consequence: Literal["left out", "stops ingestion", "stops training"] = "left out"


def count_kinds(problems: Iterable[Rejection], paths: Mapping[str, str] = NO_PATHS) -> Iterator[str]:
    """Yield a line for each kind of problem, which differ in more than in numbers and quoted texts, with their count;
    ``paths`` has files by their names."""
    first: dict[str, Rejection] = {}
    counts: Counter[str] = Counter()
    for problem in problems:
        kind = _VARIABLE_PART.sub("", problem.reason)
        # A file may hold any number of kinds.
        if kind in first or len(first) < MAX_KINDS:
            first.setdefault(kind, problem)
            counts[kind] += 1
        else:
            counts[OTHER_KINDS] += 1
    for kind, problem in first.items():
        more = f" ({counts[kind]:,} times; this is the first)" if counts[kind] > 1 else ""
        yield f"{paths.get(problem.file, problem.file)}, {problem.record}: {problem.reason}{more}"
    if counts[OTHER_KINDS]:
        yield f"{counts[OTHER_KINDS]:,} problems of other kinds"


def collect_problems(
    benchmark: BenchmarkParameters, files: Sequence[RawFile], annotations: Sequence[Path] = ()
) -> Iterator[Problem]:
    """Yield every record that ingestion would leave out, and every file that would stop it or training.

    A file that stops ingestion is read up to the problem; duplicates are searched among the other files.
    """
    for file_of_types in annotations:
        try:
            read_annotations([file_of_types])
        except CoattendError as error:
            yield _stop(file_of_types, error)
    usable = []
    for file in files:
        rejections: list[Rejection] = []
        try:
            read = format_reader(file.source.format, file.source.options, file.source.fields)
            for path, _ in readable_files(file):
                records = read(path, max_characters=benchmark.max_characters)
                rejections += (record for record in records if isinstance(record, Rejection))
        except CoattendError as error:
            stop = _stop(file.path, error)
            # The line that stops the reading may be listed as a rejection already.
            listed = Rejection(stop.file, stop.record, error.problem)
            yield from (stop if record == listed else Problem(**vars(record)) for record in rejections)
            if listed not in rejections:
                yield stop
        else:
            usable.append(file)
    if not usable:
        return
    tables = read_tables(benchmark, usable)
    for table in tables.rejected:
        for row in table.to_pylist():
            yield Problem(row["file"], row["record"], row["reason"])
    if tables.lacks_groups and not benchmark.trained_on:
        yield Problem(", ".join(tables.file_names["train"]), WHOLE_FILE, ONE_GROUP, "stops training")
    if tables.tasks and tables.tasks.isdisjoint(benchmark.tasks):
        declared, found = " or ".join(benchmark.tasks), ", ".join(sorted(tables.tasks))
        reason = f"no question is of the task {declared}, which the benchmark declares. Set its tasks to [{found}]"
        yield Problem(", ".join(chain.from_iterable(tables.file_names.values())), WHOLE_FILE, reason, "stops training")
    for split, count in tables.usable.items():
        if not count:
            file_names = ", ".join(tables.file_names[split])
            reason = f"no question of the split {split!r} can be used"
            yield Problem(file_names, WHOLE_FILE, reason, "stops ingestion")


def _stop(path: Path, error: CoattendError) -> Problem:
    """Describe an error that stops the reading of a file, or of a file inside it: ``train.jsonl.gz/train.jsonl``."""
    member, _, location = (error.where or "").removeprefix(str(path)).partition(", ")
    name = member.rpartition("/")[2] or path.name
    reason = f"{error.problem}. {error.cure}" if error.cure else error.problem
    return Problem(name, location or WHOLE_FILE, reason, "stops ingestion")
