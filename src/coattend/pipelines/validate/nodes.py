"""Nodes of the validation pipeline."""

import logging
from typing import Any

from coattend.benchmarks.problems import WHOLE, problems
from coattend.benchmarks.raw import raw_files, raw_folder
from coattend.configuration import project_folder
from coattend.errors import CoattendError
from coattend.parameters import BenchmarkParameters

MOST_TOLD = 100
"""Problems that are told one by one; the table has them all."""

logger = logging.getLogger(__name__)


def find_problems(benchmark: BenchmarkParameters) -> Any:
    """Look for all that is wrong with a benchmark's raw files.

    Returns:
        A pandas table, a row for each problem: file, record (such as ``line 3``) and reason, in the files' order.

    Raises:
        CoattendError: If a file is missing.
    """
    import pandas as pd

    files = raw_files(benchmark, raw_folder(project_folder(), generated=benchmark.is_written))
    rows = [vars(one) for one in problems(benchmark, files)]
    return pd.DataFrame(rows, columns=["file", "record", "reason"])


def tell(found: Any, benchmark: BenchmarkParameters) -> None:
    """Tell the problems.

    Raises:
        CoattendError: If there are any.
    """
    for one in found.head(MOST_TOLD).itertuples():
        logger.warning("%s, %s: %s", one.file, one.record, one.reason)
    if len(found):
        rest = f", {MOST_TOLD} of which are listed above" if len(found) > MOST_TOLD else ""
        raise CoattendError(
            f"{len(found):,} problem{'s' * (len(found) > 1)} in its raw files{rest}",
            where=benchmark.title,
            cure=f"All are in 08_reporting/{benchmark.name}/problems.csv; {_then(found)}",
        )
    logger.info("%s: nothing is wrong with its raw files", benchmark.title)


def _then(found: Any) -> str:
    """What ingestion does about them."""
    stops = int((found["record"] == WHOLE).sum())
    if stops:
        return f"ingestion stops at what is wrong with {WHOLE} as a whole ({stops:,} of them), and leaves records out"
    return "ingestion leaves such records out"
