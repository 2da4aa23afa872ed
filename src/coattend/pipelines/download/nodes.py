"""Files from where they are published to the raw folder."""

import logging
from typing import Any

from coattend.benchmarks.fetching import fetch
from coattend.benchmarks.raw import raw_folder
from coattend.configuration import project_folder
from coattend.masking import masked_text
from coattend.parameters import BenchmarkParameters

logger = logging.getLogger(__name__)


def download(benchmark: BenchmarkParameters) -> list[dict[str, Any]]:
    """Fetch the files of a benchmark that are not there, one after the other.

    Args:
        benchmark: Which files, and where they are published.

    Returns:
        For each file its name, place, state, size and digest.

    Raises:
        CoattendError: If one cannot be fetched now.
    """
    folder = raw_folder(project_folder())
    if not benchmark.downloads:
        logger.warning(
            "%s: no program can fetch its files. Fetch them by hand from %s and put them into %s",
            *(benchmark.title, benchmark.published_at, folder / benchmark.sources[0].folder),
        )
    logger.info("%s is published at %s. Licence: %s", benchmark.title, benchmark.published_at, benchmark.licence)
    records = []
    for file in benchmark.downloads:
        path = folder / file.file
        fetched = fetch(file.url, path, sha256=file.sha256)
        if fetched.state == "another":
            logger.warning(
                "%s is not the published file; it is left as it is. Move it away to fetch %s",
                path,
                masked_text(file.url),
            )
        else:
            logger.info("%s: %s, %s bytes", path, fetched.state, f"{fetched.size:,}")
        records.append({"file": file.file, "url": masked_text(file.url), **fetched._asdict()})
    return records
