"""Nodes of the ingestion pipeline: from raw files to tables."""

import json
import logging
from collections.abc import Iterator, Sequence
from functools import cache

from coattend.config import BenchmarkParameters
from coattend.pipelines.annotations import Dataset, Manifest, ShardPlan, Table, TablePlan
from coattend.pipelines.shards import shard_count, tables_digest

logger = logging.getLogger(__name__)


def generate(benchmark: BenchmarkParameters) -> Manifest:
    """Write the raw files of a benchmark with settings of the generator, unless they are current."""
    from coattend.config.project import raw_folder
    from coattend.data.generated_files import read_manifest
    from coattend.data.synthetic.generate import is_current, parse_settings, write_sample

    settings = parse_settings(benchmark.generator or {})
    folder = raw_folder(generated=True) / benchmark.name
    manifest = read_manifest(folder)
    if manifest and is_current(folder, settings, manifest):
        return manifest
    logger.info("Writing the raw files of %s to %s", benchmark.title, folder)
    return write_sample(folder, settings)


def ingest(benchmark: BenchmarkParameters, raw: Manifest | None = None) -> tuple[TablePlan, TablePlan, TablePlan]:
    """Plan the tables of passages, questions and rejected records, read from raw files in one pass.

    Args:
        benchmark: Its files and formats.
        raw: The manifest of generated raw files, so that they are written first.

    Raises:
        CoattendError: If the sample's files were written with other settings.
    """
    from coattend.config.project import raw_folder
    from coattend.data.formats.base import Rejection
    from coattend.data.formats.dream import read_annotations
    from coattend.data.ingest import ONE_GROUP, BenchmarkTables, read_benchmark, source_digest
    from coattend.data.problems import count_kinds
    from coattend.data.raw_files import annotation_files, paths_by_name, raw_files
    from coattend.io.checked import TablePlan

    if benchmark.generator is not None and raw is not None:
        from coattend.data.synthetic.generate import check_settings, parse_settings

        check_settings(benchmark.name, parse_settings(benchmark.generator), raw)
    folder = raw_folder(generated=benchmark.is_written)
    files, annotations = raw_files(benchmark, folder), annotation_files(benchmark, folder)
    roles = [(f"source {benchmark.sources.index(file.source)}, {file.split}", file.path) for file in files]
    roles += [("annotations", path) for path in annotations]
    key, paths = source_digest(roles, benchmark), paths_by_name(files)

    @cache
    def read() -> BenchmarkTables:
        tables = read_benchmark(benchmark, files, read_annotations(annotations))
        if tables.rejected.rows:
            records = (Rejection(**row) for table in tables.rejected for row in table.to_pylist())
            logger.warning(
                "%s: %d records are left out and listed in %s.rejected: %s",
                *(benchmark.title, tables.rejected.rows, benchmark.name, "; ".join(count_kinds(records, paths))),
            )
        if tables.lacks_groups and not benchmark.trained_on:
            logger.warning("%s: %s", benchmark.title, ONE_GROUP)
        counts = ", ".join(f"{count:,} in {split}" for split, count in tables.groups.items())
        logger.info("%s: groups of questions whose passages overlap: %s", benchmark.title, counts)
        if tables.crossing:
            logger.warning(
                "%s: groups with questions in several splits, whose passages overlap: %s; nothing is moved",
                *(benchmark.title, f"{tables.crossing:,}"),
            )
        return tables

    return (
        TablePlan(key, lambda: read().passages),
        TablePlan(key, lambda: read().questions),
        TablePlan(key, lambda: read().rejected),
    )


def distinct_texts(passages: Dataset, questions: Dataset, benchmark: BenchmarkParameters) -> ShardPlan:
    """Plan the table of every text that a reader sees, each once."""
    from coattend.data.text_store import TEXTS_VERSION, DistinctTexts, gather_texts
    from coattend.io.sharded import ShardPlan

    tables = [passages, questions]
    options = {"fill_blanks": benchmark.fill_blanks, "words_as_options": benchmark.words_as_options}
    shards = benchmark.shards or shard_count(tables)

    @cache
    def texts() -> DistinctTexts:
        return gather_texts(passages, questions, shards, **options)

    def make(names: Sequence[str]) -> Iterator[tuple[str, Table]]:
        return ((name, texts().table(name)) for name in names)

    origin = tables_digest(tables, json.dumps([TEXTS_VERSION, shards, options]))
    return ShardPlan(origin=origin, keys=lambda: texts().keys(), make=make)
