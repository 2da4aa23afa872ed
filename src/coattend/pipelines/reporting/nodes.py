"""Nodes of the reporting pipeline."""

from typing import Any

from coattend.config import BenchmarkParameters
from coattend.pipelines.annotations import Dataset
from coattend.reports.records import BenchmarkResults


def compare(
    benchmark: BenchmarkParameters, questions: Dataset, rejected: Dataset, **readers: Any
) -> tuple[BenchmarkResults, str, str, Any]:
    """Compare the readers of a benchmark.

    Args:
        benchmark: The benchmark.
        questions: Its questions.
        rejected: The records that ingestion rejected.
        readers: For each reader ``<reader>.metrics`` and ``<reader>.predictions``; None if it was not run.

    Returns:
        The comparison as data, as Markdown, as an HTML page, and its chart as a Plotly figure.
    """
    from coattend.reports.benchmark import dot_plot, render_html, render_markdown
    from coattend.reports.comparison import compare_readers

    results = compare_readers(
        benchmark.name,
        benchmark.title,
        questions,
        rejected,
        metrics=_select(readers, "metrics"),
        predictions=_select(readers, "predictions"),
    )
    results["scored"] = benchmark.scored
    return results, render_markdown(results), render_html(results), dot_plot(results)


def _select(readers: dict[str, Any], part: str) -> dict[str, Any]:
    """Select one part of each reader, by the reader's name."""
    suffix = f".{part}"
    return {name.removesuffix(suffix): value for name, value in readers.items() if name.endswith(suffix)}
