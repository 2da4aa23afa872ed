"""Node of the download pipeline: published files into the raw folder."""

import logging
from typing import Literal, TypedDict

from coattend.config import BenchmarkParameters
from coattend.config.project import project_folder

logger = logging.getLogger(__name__)


class DownloadRecord(TypedDict):
    """A published file on this machine; see `coattend.data.download.Download`."""

    file: str
    url: str
    state: Literal["fetched", "there", "another"]
    size: int
    sha256: str


def download(benchmark: BenchmarkParameters) -> list[DownloadRecord]:
    """Download the missing files of a benchmark, one after the other.

    Args:
        benchmark: Its published files.

    Raises:
        CoattendError: If one cannot be downloaded now.
    """
    from coattend.data.download import fetch
    from coattend.data.raw_files import raw_folder
    from coattend.masking import masked_text

    folder = raw_folder(project_folder())
    if not benchmark.downloads:
        logger.warning(
            "%s: no program can fetch its files. Fetch them by hand from %s and put them into %s",
            *(benchmark.title, benchmark.published_at, folder / benchmark.sources[0].folder),
        )
    logger.info("%s is published at %s. Licence: %s", benchmark.title, benchmark.published_at, benchmark.licence)
    records: list[DownloadRecord] = []
    for file in benchmark.downloads:
        path, url = folder / file.file, masked_text(file.url)
        state, size, sha256 = fetch(file.url, path, sha256=file.sha256)
        if state == "another":
            logger.warning("%s is not the published file; it is left as it is. Move it away to fetch %s", path, url)
        else:
            logger.info("%s: %s, %s bytes", path, state, f"{size:,}")
        records.append({"file": file.file, "url": url, "state": state, "size": size, "sha256": sha256})
    return records
