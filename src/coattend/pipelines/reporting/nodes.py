"""Nodes of the reporting pipeline."""

from collections.abc import Mapping
from typing import Any, TypeVar

from coattend.config import BenchmarkParameters
from coattend.pipelines.annotations import Dataset
from coattend.reports.records import BenchmarkResults

Part = TypeVar("Part")


def compare(
    benchmark: BenchmarkParameters, questions: Dataset, rejected: Dataset, **readers: Any
) -> tuple[BenchmarkResults, str, str, Any]:
    """Compare the readers of a benchmark, of which each has ``<reader>.metrics`` and ``<reader>.predictions``, None if
    it was not run: as data, as Markdown, as an HTML page, and as a Plotly chart."""
    from coattend.reports.benchmark import benchmark_sections
    from coattend.reports.comparison import compare_readers
    from coattend.reports.figures import dot_plot
    from coattend.reports.navigation import page_links
    from coattend.reports.render import html_page, markdown_page

    results = compare_readers(
        benchmark.name,
        benchmark.title,
        questions,
        rejected,
        metrics=_select(readers, "metrics"),
        predictions=_select(readers, "predictions"),
    )
    results["scored"], results["benchmark_version"] = benchmark.scored, benchmark.version
    results["simulated"] = benchmark.is_simulated
    title, page = f"{results['title']}: readers compared", benchmark_sections(results)
    links = page_links("../", experiment=benchmark.name)
    return results, markdown_page(title, page), html_page(title, page, links=links), dot_plot(results)


def _select(readers: Mapping[str, Part], part: str) -> dict[str, Part]:
    """Select one part of each reader, by the reader's name."""
    suffix = f".{part}"
    return {name.removesuffix(suffix): value for name, value in readers.items() if name.endswith(suffix)}
