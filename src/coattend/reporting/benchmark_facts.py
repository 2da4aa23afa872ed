"""What the parameter file of a benchmark says: format, files, size, licence and where they are from."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml

from coattend.parameters import BenchmarkParameters
from coattend.reporting.markdown_table import table

SPLITS = ("train", "dev", "test")


def of_benchmark(folder: Path, name: str) -> str:
    """A table of facts.

    Args:
        folder: Where the parameter files of benchmarks are.
        name: The benchmark's.
    """
    entry = yaml.safe_load((folder / f"{name}.yml").read_text(encoding="utf-8"))["benchmarks"][name]
    facts = _facts(BenchmarkParameters.model_validate(entry | {"name": name}))
    return table((f"`{name}`", ""), [(what, said) for what, said in facts if said])


def _facts(benchmark: BenchmarkParameters) -> Iterator[tuple[str, str]]:
    as_options = ", or candidates as options" if benchmark.words_as_options else ""
    yield "answered by", " or ".join(benchmark.tasks) + as_options
    yield "formats", ", ".join(f"`{one}`" for one in dict.fromkeys(source.format for source in benchmark.sources))
    yield "files", "<br>".join(_files(benchmark))
    yield "subsets", ", ".join(dict.fromkeys(source.subset for source in benchmark.sources if source.subset))
    yield "published size", "<br>".join(_sizes(benchmark.published))
    yield "passages", "<br>".join(_generated(benchmark.generator or {}))
    yield "licence", benchmark.licence.rstrip(".")
    yield "published at", _linked(benchmark.published_at)
    yield "trained on", f"`{benchmark.trained_on}`" if benchmark.trained_on else ""
    yield "`download` fetches", _fetched(benchmark)


def _files(benchmark: BenchmarkParameters) -> Iterator[str]:
    """Each folder with its patterns, split by split."""
    for source in benchmark.sources:
        patterns = (f"{split} {_listed(given)}" for split, given in source.files.items())
        archives = f"; or inside {_listed(source.archives)}" if source.archives else ""
        fallback = "where the split has none above: " if source.fallback else ""
        yield f"{fallback}`{source.folder}`: {', '.join(patterns)}{archives}"


def _listed(patterns: Iterable[str]) -> str:
    return " or ".join(f"`{one}`" for one in patterns)


def _sizes(published: dict[str, dict[str, float]]) -> Iterator[str]:
    for split, numbers in published.items():
        if split.partition("/")[0] not in SPLITS:
            continue
        counts = {what: number for what, number in numbers.items() if float(number).is_integer()}
        if counts:
            yield f"{split} " + ", ".join(f"{number:,.0f} {what}" for what, number in counts.items())


def _generated(settings: dict[str, Any]) -> Iterator[str]:
    for kind, sizes in settings.items():
        if isinstance(sizes, dict):
            yield f"{kind}: " + ", ".join(f"{split} {count:,}" for split, count in sizes.items())


def _linked(where: str) -> str:
    return re.sub(r"https?://[^\s()]+", lambda found: f"<{found.group()}>", where)


def _fetched(benchmark: BenchmarkParameters) -> str:
    if not benchmark.downloads:
        return "nothing: its files are fetched by hand" if benchmark.published_at else ""
    files, known = len(benchmark.downloads), sum(one.sha256 is not None for one in benchmark.downloads)
    return f"{files} file{'s' * (files > 1)}; digests are known of {known}"
