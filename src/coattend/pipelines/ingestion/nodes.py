"""From raw files to tables."""

import json
import logging
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as pads

from coattend.benchmarks import sample
from coattend.benchmarks.annotations import types_of
from coattend.benchmarks.distinct import VERSION, DistinctTexts
from coattend.benchmarks.origin import digest
from coattend.benchmarks.raw import RawFile, annotation_files, raw_files, raw_folder
from coattend.benchmarks.reading import Tables, read_benchmark
from coattend.benchmarks.written import summary_in
from coattend.configuration import project_folder
from coattend.datasets.sharded import ShardPlan
from coattend.datasets.table import TablePlan
from coattend.parameters import BenchmarkParameters
from coattend.pipelines.shards import fitting_shards, origin

logger = logging.getLogger(__name__)


def generate(benchmark: BenchmarkParameters) -> dict[str, Any]:
    """Write the raw files of the sample, unless they are there.

    Args:
        benchmark: A benchmark with settings of the generator.

    Returns:
        What was written: settings, generator and digests.

    Raises:
        CoattendError: If a setting is wrong, or the disk refuses.
    """
    settings = sample.settings_of(benchmark.generator or {})
    folder = raw_folder(project_folder(), generated=True) / benchmark.name
    known = summary_in(folder)
    if known and sample.is_written(folder, settings, known):
        return known
    logger.info("Writing the raw files of %s to %s", benchmark.title, folder)
    return sample.write_sample(folder, settings)


def ingest(benchmark: BenchmarkParameters, raw: dict[str, Any] | None = None) -> tuple[TablePlan, TablePlan, TablePlan]:
    """Plan to read a benchmark's raw files, all three tables at once.

    Args:
        benchmark: Where its files are.
        raw: What an earlier stage wrote, so that it comes first.

    Returns:
        The passages, questions and rejected tables.

    Raises:
        CoattendError: If a file is missing or cannot be used, or a split has no usable question.
    """
    folder = raw_folder(project_folder(), generated=benchmark.is_written)
    files, annotated = raw_files(benchmark, folder), annotation_files(benchmark, folder)
    key = digest([*((file.split, file.path) for file in files), *((None, path) for path in annotated)], benchmark)
    read = cache(lambda: _read(benchmark, files, annotated))
    return (
        TablePlan(key, lambda: read().passages),
        TablePlan(key, lambda: read().questions),
        TablePlan(key, lambda: read().rejected),
    )


def _read(benchmark: BenchmarkParameters, files: list[RawFile], annotated: list[Path]) -> Tables:
    tables = read_benchmark(benchmark, files, types_of(annotated))
    if tables.rejected.rows:
        logger.warning(
            "%s: %d records are left out and listed in %s.rejected. The first: %s",
            *(benchmark.title, tables.rejected.rows, benchmark.name, tables.reasons()),
        )
    return tables


def distinct_texts(passages: pads.Dataset, questions: pads.Dataset, benchmark: BenchmarkParameters) -> ShardPlan:
    """Plan to gather every text that a reader sees, each once.

    Args:
        passages: The passages table.
        questions: The questions table.
        benchmark: How many shards, and how options become text.

    Returns:
        A plan for the texts table.
    """
    how = {"fill_blanks": benchmark.fill_blanks, "words_as_options": benchmark.words_as_options}
    shards = benchmark.shards or fitting_shards([passages, questions])
    texts = cache(lambda: _gather(passages, questions, shards, how))

    def make(names: Sequence[str]) -> Iterator[tuple[str, pa.Table]]:
        return ((name, texts().table(name)) for name in names)

    settings = json.dumps([VERSION, shards, how])
    return ShardPlan(origin=origin([passages, questions], settings), keys=lambda: texts().keys(), make=make)


def _gather(passages: pads.Dataset, questions: pads.Dataset, shards: int, how: dict[str, bool]) -> DistinctTexts:
    texts = DistinctTexts(shards)
    for batch in _batches(passages, ["text"]):
        for text in batch.column("text").to_pylist():
            texts.add(text, "passage")
    for batch in _batches(questions, ["task", "question", "options"]):
        for task, question, options in zip(*batch.to_pydict().values(), strict=True):
            texts.add_question(task, question, options, **how)
    return texts


def _batches(table: pads.Dataset, columns: list[str]) -> Iterator[pa.RecordBatch]:
    # Arrow reads far ahead unless told not to: memory would follow the size of the table.
    return table.to_batches(columns=columns, batch_size=5_000, batch_readahead=1, fragment_readahead=1)
