"""Nodes of the validation pipeline: the problems of a benchmark's raw files."""

import logging

from coattend.config import BenchmarkParameters
from coattend.errors import CoattendError
from coattend.pipelines.annotations import DataFrame, StoredTables

logger = logging.getLogger(__name__)


def find_problems(benchmark: BenchmarkParameters) -> DataFrame:
    """List all problems of a benchmark's raw files in order: file, record (such as ``line 3``), reason and
    consequence."""
    import pandas as pd

    from coattend.config.project import raw_folder
    from coattend.data.problems import collect_problems
    from coattend.data.raw_files import annotation_files, paths_by_name, raw_files

    folder = raw_folder(generated=benchmark.is_written)
    files = raw_files(benchmark, folder)
    paths = paths_by_name(files)
    rows = [vars(problem) for problem in collect_problems(benchmark, files, annotation_files(benchmark, folder))]
    rows = [row | {"file": paths.get(row["file"], row["file"])} for row in rows]
    return pd.DataFrame(rows, columns=["file", "record", "reason", "consequence"])


def report_problems(problems: DataFrame, benchmark: BenchmarkParameters, tables: StoredTables) -> None:
    """Log a line for each kind of problem, and raise a `CoattendError` if there are any."""
    from coattend.data.problems import Problem, count_kinds

    # A consequence is part of the kind: what stops a run is not one of many records that are left out.
    for consequence, rows in problems.groupby("consequence", sort=False):
        for line in count_kinds(Problem(*row) for row in rows.itertuples(index=False)):
            logger.warning("%s (%s)", line, consequence)
    count = len(problems)
    if not count:
        logger.info("%s: nothing is wrong with its raw files", benchmark.title)
        return
    counts = problems["consequence"].value_counts(sort=False).to_dict()
    consequences = {
        "stops ingestion": "ingestion stops at {} of them",
        "stops training": "training stops at {} of them",
        "left out": "ingestion leaves {} out",
    }
    summary = ", and ".join(consequences[name].format(f"{counts[name]:,}") for name in consequences if name in counts)
    problem = f"{count:,} problem{'s' * (count > 1)} in its raw files: {summary}"
    raise CoattendError(problem, where=benchmark.title, cure=f"All are in {tables.path('problems', benchmark.name)}")
