"""From raw files to tables."""

import json
import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as pads

from coattend.benchmarks import sample
from coattend.benchmarks.distinct import DistinctTexts
from coattend.benchmarks.raw import raw_files, raw_folder
from coattend.benchmarks.reading import read_benchmark
from coattend.benchmarks.spool import Spool
from coattend.configuration import project_folder
from coattend.datasets.sharded import ShardPlan
from coattend.parameters import BenchmarkParameters
from coattend.text.questions import question_texts

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
    written = _written(folder)
    if sample.is_written(folder, settings, written):
        return written
    logger.info("Writing the raw files of %s to %s", benchmark.title, folder)
    return sample.write_sample(folder, settings)


def _written(folder: Path) -> dict[str, Any] | None:
    """What the catalog holds as this benchmark's raw entry: a node cannot have its own output as input."""
    try:
        return json.loads((folder / "written.json").read_text())
    except (OSError, ValueError):
        return None


def ingest(benchmark: BenchmarkParameters, raw: dict[str, Any] | None = None) -> tuple[Spool, Spool, Spool]:
    """Read a benchmark's raw files.

    Args:
        benchmark: Where its files are.
        raw: What the generator wrote, so that it comes first.

    Returns:
        The passages, questions and rejected tables, as tables to be drawn.

    Raises:
        CoattendError: If a file is missing or cannot be used, or a split has no usable question.
    """
    folder = raw_folder(project_folder(), generated=benchmark.generator is not None)
    tables = read_benchmark(benchmark, raw_files(benchmark, folder))
    if tables.rejected.rows:
        first = "; ".join(f"{one.file}, {one.record}: {one.reason}" for one in tables.reasons)
        logger.warning(
            "%s: %d records are left out and listed in %s.rejected. The first: %s",
            *(benchmark.title, tables.rejected.rows, benchmark.name, first),
        )
    return tables.passages, tables.questions, tables.rejected


def distinct_texts(passages: pads.Dataset, questions: pads.Dataset, benchmark: BenchmarkParameters) -> ShardPlan:
    """Gather every text that a reader sees, each once.

    Args:
        passages: The passages table.
        questions: The questions table.
        benchmark: How many shards.

    Returns:
        A plan for the texts table.
    """
    texts = DistinctTexts(benchmark.shards)
    for batch in _batches(passages, ["text"]):
        for text in batch.column("text").to_pylist():
            texts.add(text, "passage")
    for batch in _batches(questions, ["task", "question", "options"]):
        for task, question, options in zip(*batch.to_pydict().values(), strict=True):
            for option in options if task == "options" else [None]:
                _add_question(texts, question, option)

    def make(names: Sequence[str]) -> Iterator[tuple[str, pa.Table]]:
        return ((name, texts.table(name)) for name in names)

    return ShardPlan(texts.keys(), make)


def _add_question(texts: DistinctTexts, question: str, option: str | None) -> None:
    parts = question_texts(question, option)
    if option is not None and len(parts) == 1:
        texts.add(parts[0], "filled")
        return
    texts.add(parts[0], "question")
    for part in parts[1:]:
        texts.add(part, "option")


def _batches(table: pads.Dataset, columns: list[str]) -> Iterator[pa.RecordBatch]:
    # Arrow reads far ahead unless told not to: memory would follow the size of the table.
    return table.to_batches(columns=columns, batch_size=5_000, batch_readahead=1, fragment_readahead=1)
