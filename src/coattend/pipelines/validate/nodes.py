"""Nodes of the validation pipeline: the problems of a benchmark's raw files."""

import logging

from coattend.config import BenchmarkParameters
from coattend.config.project import project_folder
from coattend.errors import CoattendError
from coattend.pipelines.annotations import DataFrame

MAX_LOGGED = 100
"""Problems that are logged one by one; the table has all of them."""

logger = logging.getLogger(__name__)


def find_problems(benchmark: BenchmarkParameters) -> DataFrame:
    """List all problems of a benchmark's raw files in order: file, record (such as ``line 3``) and reason."""
    import pandas as pd

    from coattend.data.ingest import collect_problems
    from coattend.data.raw_files import raw_files, raw_folder

    files = raw_files(benchmark, raw_folder(project_folder(), generated=benchmark.is_written))
    rows = [vars(problem) for problem in collect_problems(benchmark, files)]
    return pd.DataFrame(rows, columns=["file", "record", "reason"])


def report_problems(problems: DataFrame, benchmark: BenchmarkParameters) -> None:
    """Log the problems, and raise a `CoattendError` if there are any."""
    from coattend.data.ingest import WHOLE_FILE

    for problem in problems.head(MAX_LOGGED).itertuples():
        logger.warning("%s, %s: %s", problem.file, problem.record, problem.reason)
    count = len(problems)
    if not count:
        logger.info("%s: nothing is wrong with its raw files", benchmark.title)
        return
    rest = f", {MAX_LOGGED} of which are listed above" if count > MAX_LOGGED else ""
    stops = int((problems["record"] == WHOLE_FILE).sum())
    consequence = "ingestion leaves such records out"
    if stops:
        stop = f"ingestion stops at what is wrong with {WHOLE_FILE} as a whole ({stops:,} of them)"
        consequence = f"{stop}, and leaves records out"
    problem = f"{count:,} problem{'s' * (count > 1)} in its raw files{rest}"
    cure = f"All are in 08_reporting/{benchmark.name}/problems.csv; {consequence}"
    raise CoattendError(problem, where=benchmark.title, cure=cure)
