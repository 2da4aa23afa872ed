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
    """Find all problems of a benchmark's raw files.

    Returns:
        A row for each problem: file, record (such as ``line 3``) and reason, in the files' order.

    Raises:
        CoattendError: If a file is missing.
    """
    import pandas as pd

    from coattend.data.raw_files import raw_files, raw_folder
    from coattend.data.validation import collect_problems

    files = raw_files(benchmark, raw_folder(project_folder(), generated=benchmark.is_written))
    rows = [vars(problem) for problem in collect_problems(benchmark, files)]
    return pd.DataFrame(rows, columns=["file", "record", "reason"])


def report_problems(problems: DataFrame, benchmark: BenchmarkParameters) -> None:
    """Log the problems.

    Raises:
        CoattendError: If there are any.
    """
    from coattend.data.validation import WHOLE_FILE

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
        consequence = (
            f"ingestion stops at what is wrong with {WHOLE_FILE} as a whole ({stops:,} of them), and leaves records out"
        )
    raise CoattendError(
        f"{count:,} problem{'s' * (count > 1)} in its raw files{rest}",
        where=benchmark.title,
        cure=f"All are in 08_reporting/{benchmark.name}/problems.csv; {consequence}",
    )
