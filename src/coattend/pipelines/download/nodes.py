"""Node of the download pipeline: published files into the raw folder."""

import logging

from coattend.config import BenchmarkParameters

logger = logging.getLogger(__name__)


def download(benchmark: BenchmarkParameters) -> list[dict[str, str | int]]:
    """Download the missing files of a benchmark; each becomes a `coattend.data.download.Download` with its address."""
    from coattend.config.project import raw_folder
    from coattend.data.download import fetch
    from coattend.masking import masked_text

    folder = raw_folder()
    if not benchmark.downloads:
        logger.warning(
            "%s: no program can fetch its files. Fetch them by hand from %s and put them into %s",
            *(benchmark.title, benchmark.published_at, folder / benchmark.sources[0].folder),
        )
    logger.info("%s is published at %s. Licence: %s", benchmark.title, benchmark.published_at, benchmark.licence)
    records: list[dict[str, str | int]] = []
    for file in benchmark.downloads:
        path, url = folder / file.file, masked_text(file.url)
        result = fetch(file.url, path, sha256=file.sha256)
        if result.state == "another":
            logger.warning("%s is not the published file; it is left as it is. Move it away to fetch %s", path, url)
        else:
            logger.info("%s: %s, %s bytes", path, result.state, f"{result.size:,}")
        records.append({"file": file.file, "url": url, **result._asdict()})
    return records
