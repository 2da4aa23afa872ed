"""Nodes of the reporting pipeline."""

from typing import Any

import pyarrow.dataset as pads

from coattend.parameters import BenchmarkParameters


def compare(
    benchmark: BenchmarkParameters, questions: pads.Dataset, rejected: pads.Dataset, **readers: Any
) -> tuple[dict[str, Any], str, str, Any]:
    """Compare the readers of a benchmark.

    Args:
        benchmark: The benchmark.
        questions: Its questions.
        rejected: The records that ingestion refused.
        readers: For each reader ``<reader>.metrics`` and ``<reader>.predictions``; None where it was not run.

    Returns:
        The comparison as data, as Markdown, as one HTML page, and its chart as a Plotly figure.
    """
    from coattend.reporting import comparison, figures, html_page, markdown_page

    results = comparison.compare(
        benchmark.name, benchmark.title, questions, rejected, _part(readers, "metrics"), _part(readers, "predictions")
    ) | {"scored": benchmark.scored}
    return results, markdown_page.render(results), html_page.render(results), figures.dot_plot(results)


def _part(readers: dict[str, Any], name: str) -> dict[str, Any]:
    return {key.rpartition(".")[0]: given for key, given in readers.items() if key.rpartition(".")[2] == name}
