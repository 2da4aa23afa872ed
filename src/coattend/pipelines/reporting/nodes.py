"""Nodes of the reporting pipeline."""

from typing import Any

from coattend.config import BenchmarkParameters, entries
from coattend.evaluation.records import ReaderMetrics
from coattend.pipelines.annotations import Dataset, StoredAnswers
from coattend.reports.records import BenchmarkResults


def compare(
    benchmark: BenchmarkParameters,
    questions: Dataset,
    passages: Dataset,
    rejected: Dataset,
    answered_before: StoredAnswers,
    **metrics: ReaderMetrics | None,
) -> tuple[BenchmarkResults, str, str, Any]:
    """Compare the readers of a benchmark: as data, as Markdown, as an HTML page, and as a Plotly chart.

    The metrics are those of the readers in this pipeline. Predictions, and readers of earlier runs, are looked up on
    disk. Readers that are in neither are shown as "not run".
    """
    from coattend.evaluation.groups import share_moved_from_dev
    from coattend.reports.benchmark import benchmark_sections
    from coattend.reports.comparison import compare_readers
    from coattend.reports.figures import dot_plot
    from coattend.reports.navigation import page_links
    from coattend.reports.render import html_page, markdown_page

    names = dict.fromkeys([*entries.readers_of(benchmark.name), *metrics])
    scored = {name: metrics[name] if name in metrics else answered_before.metrics(name) for name in names}
    results = compare_readers(
        benchmark.name,
        benchmark.title,
        questions,
        rejected,
        metrics=scored,
        predictions={name: answered_before.predictions(name) for name, scores in scored.items() if scores},
    )
    results["scored"], results["benchmark_version"] = benchmark.scored, benchmark.version
    results["simulated"] = benchmark.is_simulated
    share = share_moved_from_dev(benchmark, questions, passages)
    if share is not None:
        results["train_from_dev"] = share
    title, page = f"{results['title']}: readers compared", benchmark_sections(results)
    links = page_links("../", experiment=benchmark.name)
    return results, markdown_page(title, page), html_page(title, page, links=links), dot_plot(results)
