"""Facts about a benchmark from its parameter file: format, files, size, licence and source."""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from docs._tools.markdown import table

from coattend.config import BenchmarkParameters

SPLITS = ("train", "dev", "test")


def fact_table(configuration: Path, name: str) -> str:
    """Write a table of facts about a benchmark.

    Args:
        configuration: The folder of the configuration's base environment.
        name: The benchmark.
    """
    (file,) = configuration.rglob(f"benchmarks/{name}.yml")
    entry = yaml.safe_load(file.read_text(encoding="utf-8"))["benchmarks"][name]
    facts = _facts(BenchmarkParameters.model_validate(entry | {"name": name}))
    return table((f"`{name}`", ""), [(title, text) for title, text in facts if text])


def _facts(benchmark: BenchmarkParameters) -> Iterator[tuple[str, str]]:
    yield "version", str(benchmark.version)
    as_options = ", or candidates as options" if benchmark.words_as_options else ""
    yield "answered by", " or ".join(benchmark.tasks) + as_options
    yield "readers with nodes", ", ".join(f"`{name}`" for name in benchmark.readers or ())
    formats = dict.fromkeys(source.format for source in benchmark.sources)
    yield "formats", ", ".join(f"`{name}`" for name in formats)
    yield "files", "<br>".join(_files(benchmark))
    yield "subsets", ", ".join(dict.fromkeys(source.subset for source in benchmark.sources if source.subset))
    yield "published size", "<br>".join(_sizes(benchmark.published))
    yield "passages", "<br>".join(_generated_passages(benchmark.generator or {}))
    yield "licence", benchmark.licence.rstrip(".")
    yield "published at", _link(benchmark.published_at)
    profiles = {"encoder": benchmark.encoder, "tagging": benchmark.tagging}
    yield "its readers' profiles", ", ".join(f"{field} `{name}`" for field, name in profiles.items() if name)
    yield (
        "spans scored by",
        f"`{benchmark.scorer}`" if "span" in benchmark.tasks and benchmark.scorer != "squad" else "",
    )
    yield "trained on", f"`{benchmark.trained_on}`" if benchmark.trained_on else ""
    yield "`download` fetches", _downloads(benchmark)


def _files(benchmark: BenchmarkParameters) -> Iterator[str]:
    """List each folder with the file patterns of its splits."""
    for source in benchmark.sources:
        patterns = (f"{split} {_alternatives(files)}" for split, files in source.files.items())
        archives = f"; or inside {_alternatives(source.archives)}" if source.archives else ""
        fallback = "where the split has none above: " if source.fallback else ""
        yield f"{fallback}`{source.folder}`: {', '.join(patterns)}{archives}"


def _alternatives(patterns: Iterable[str]) -> str:
    return " or ".join(f"`{pattern}`" for pattern in patterns)


def _sizes(published: Mapping[str, Mapping[str, float]]) -> Iterator[str]:
    for split, numbers in published.items():
        if split.partition("/")[0] not in SPLITS:
            continue
        # Published means, such as words per passage, are no sizes.
        counts = {unit: number for unit, number in numbers.items() if float(number).is_integer()}
        if counts:
            yield f"{split} " + ", ".join(f"{number:,.0f} {unit}" for unit, number in counts.items())


def _generated_passages(settings: Mapping[str, Any]) -> Iterator[str]:
    for genre, sizes in settings.items():
        if isinstance(sizes, dict):
            yield f"{genre}: " + ", ".join(f"{split} {count:,}" for split, count in sizes.items())


def _link(text: str) -> str:
    return re.sub(r"https?://[^\s()]+", lambda address: f"<{address.group()}>", text)


def _downloads(benchmark: BenchmarkParameters) -> str:
    if not benchmark.downloads:
        return "nothing: its files are fetched by hand" if benchmark.published_at else ""
    files, with_digest = len(benchmark.downloads), sum(file.sha256 is not None for file in benchmark.downloads)
    return f"{files} file{'s' * (files > 1)}; digests are known of {with_digest}"
