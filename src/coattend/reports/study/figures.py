"""Figures of a study: scores, breakdowns, lines along an axis and parts of speech, each as panels by metric."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import TypedDict

from plotly.graph_objects import Bar, Figure, Scatter
from plotly.subplots import make_subplots

from coattend.evaluation.records import BreakdownRow
from coattend.reports import figures
from coattend.reports.records import StudyRow
from coattend.reports.tables import METRIC_TITLES, format_questions

MOST_TAGS = 12
"""Tags with bars of their own, the most frequent first; the tables have all."""

OTHER_TAGS = "others"
PATTERNS = ("", "/", "x", ".", "\\", "-", "+", "|")
"""Fillings of bars, which tell them apart without colours."""

TagCounts = Mapping[str, float]
"""Part of speech to how often it occurs."""


class LinePoint(TypedDict):
    """A row of a study as a point of a line."""

    series: str
    at: float
    row: StudyRow


def score_figure(rows: Sequence[StudyRow]) -> Figure:
    """Draw each variant's score, a marker for each split and group of questions, a panel by benchmark and metric."""
    if not rows:
        return figures.apply_layout(Figure(), 120)
    # Everything is drawn in the order in which the rows come.
    panels = list(dict.fromkeys((row["benchmark"], row["metric"]) for row in rows))
    variants = list(dict.fromkeys(row["title"] for row in rows))
    question_groups = list(dict.fromkeys((row["split"], row["group"]) for row in rows))
    titles = [f"{benchmark}: {METRIC_TITLES[metric]}" for benchmark, metric in panels]
    figure = make_subplots(rows=len(panels), vertical_spacing=0.3 / len(panels), subplot_titles=titles)
    for index, (split, group) in enumerate(question_groups):
        offset = _offset(index, len(question_groups))
        for panel, (benchmark, metric) in enumerate(panels, start=1):
            key = (benchmark, metric, split, group)
            drawn = [row for row in rows if (row["benchmark"], row["metric"], row["split"], row["group"]) == key]
            if not drawn:
                continue
            dots = Scatter(
                x=[row["mean"] for row in drawn],
                y=[variants.index(row["title"]) + offset for row in drawn],
                mode="markers",
                error_x=figures.error_bars(drawn),
                customdata=[escape(row["title"]) for row in drawn],
                hovertemplate="%{customdata}: %{x:.1f} %",
                marker=figures.trace_style(index)["marker"],
            )
            figures.draw_series(figure, panel, format_questions(split, group), dots)
    figure.update_yaxes(**figures.name_ticks(variants)).update_xaxes(**figures.PERCENT)
    return figures.apply_layout(figure, 60 + len(panels) * (80 + 26 * len(variants)))


def breakdown_figure(rows: Sequence[BreakdownRow]) -> Figure:
    """Draw each variant's scores in groups of questions of one breakdown, benchmark and split, a panel by metric."""
    groups = list(dict.fromkeys(row["group"] for row in rows))
    variants = list(dict.fromkeys(row["title"] for row in rows))
    metrics = list(dict.fromkeys(row["metric"] for row in rows))
    figure = _metric_panels(metrics)
    for index, title in enumerate(variants):
        for panel, metric in enumerate(metrics, start=1):
            drawn = [row for row in rows if (row["title"], row["metric"]) == (title, metric)]
            dots = Scatter(
                x=[groups.index(row["group"]) + _offset(index, len(variants)) for row in drawn],
                y=[row["mean"] for row in drawn],
                mode="markers",
                error_y=figures.error_bars(drawn),
                customdata=[(escape(row["group"]), row["questions"]) for row in drawn],
                hovertemplate="%{customdata[0]}, %{customdata[1]} questions: %{y:.1f} %",
                marker=figures.trace_style(index)["marker"],
            )
            figures.draw_series(figure, panel, title, dots)
    # Ticks have the number of questions below the name of the group.
    ticks = [figures.plotly_text(group, count) for group, count in question_counts(rows).items()]
    figure.update_xaxes(
        range=[-0.5, len(groups) - 0.5], tickvals=list(range(len(groups))), ticktext=ticks, **figures.NO_GRID
    )
    return figures.apply_layout(figure.update_yaxes(**figures.PERCENT), 120 + 240 * len(metrics))


def line_figure(points: Sequence[LinePoint], axis: str) -> Figure:
    """Draw scores of one group of questions along an axis, a line for each series and a panel for each metric."""
    series = list(dict.fromkeys(point["series"] for point in points))
    metrics = list(dict.fromkeys(point["row"]["metric"] for point in points))
    figure = _metric_panels(metrics)
    for index, name in enumerate(series):
        for panel, metric in enumerate(metrics, start=1):
            drawn = [point for point in points if (point["series"], point["row"]["metric"]) == (name, metric)]
            # A line runs along its axis whatever the order of the variants.
            drawn.sort(key=lambda point: point["at"])
            line = Scatter(
                x=[point["at"] for point in drawn],
                y=[point["row"]["mean"] for point in drawn],
                mode="lines+markers",
                error_y=figures.error_bars(point["row"] for point in drawn),
                customdata=[escape(point["row"]["title"]) for point in drawn],
                hovertemplate="%{customdata}: %{y:.1f} %",
                **figures.trace_style(index),
            )
            figures.draw_series(figure, panel, name, line)
    figure.update_xaxes(**figures.GRID).update_xaxes(title=figures.axis_title(axis.capitalize()), row=len(metrics))
    return figures.apply_layout(figure.update_yaxes(**figures.PERCENT), 120 + 280 * len(metrics))


def _metric_panels(metrics: Sequence[str]) -> Figure:
    """Make a figure with a panel for each metric, one below the other."""
    titles = [METRIC_TITLES[metric] for metric in metrics]
    return make_subplots(rows=len(metrics), shared_xaxes=True, vertical_spacing=0.1, subplot_titles=titles)


def _offset(index: int, count: int) -> float:
    """Spread ``count`` markers over half of a tick, around its middle."""
    return 0.5 * ((index + 0.5) / count - 0.5)


def question_counts(rows: Sequence[BreakdownRow]) -> dict[str, str]:
    """Count the questions of each group; variants with other tags may group them otherwise by parts of speech."""
    counts: dict[str, set[int]] = {}
    for row in rows:
        counts.setdefault(row["group"], set()).add(row["questions"])
    return {
        group: " to ".join(f"{count:,}" for count in sorted({min(numbers), max(numbers)}))
        for group, numbers in counts.items()
    }


def boundary_figure(predicted: Mapping[str, TagCounts], wrong: Mapping[str, TagCounts]) -> Figure:
    """Draw the share of each part of speech among the words at which answers begin and end, in percent.

    A panel shows all words, with the gold answers among the series, and another the wrong ones by the gold word's tag.
    """
    all_tags = dict.fromkeys(tag for counts in predicted.values() for tag in counts)
    tags = sorted(all_tags, key=lambda tag: -sum(counts.get(tag, 0) for counts in predicted.values()))[:MOST_TAGS]
    names = list(predicted)
    titles = ["Gold and predicted words", "Wrongly predicted words, by the gold word"]
    figure = make_subplots(rows=2, shared_xaxes=True, vertical_spacing=0.12, subplot_titles=titles)
    for panel, counts_by_name in enumerate((predicted, wrong), start=1):
        for name, all_counts in counts_by_name.items():
            index = names.index(name)
            # Shares are of all words, rare tags included.
            counts = _pool_other_tags(all_counts, tags)
            total = sum(counts.values())
            pattern = {"shape": PATTERNS[index % len(PATTERNS)]}
            bars = Bar(
                x=list(counts),
                y=[100 * count / total if total else 0.0 for count in counts.values()],
                marker={"color": figures.COLOURS[index % len(figures.COLOURS)], "pattern": pattern},
                customdata=list(counts.values()),
                hovertemplate="%{x}: %{y:.1f} %, %{customdata:,.0f} words",
            )
            figures.draw_series(figure, panel, name, bars)
    figure.update_xaxes(**figures.NO_GRID, categoryorder="array", categoryarray=[*tags, OTHER_TAGS])
    return figures.apply_layout(figure.update_yaxes(**figures.PERCENT), 600)


def _pool_other_tags(counts: TagCounts, tags: Sequence[str]) -> dict[str, float]:
    """Count the tags of a list, and the rest together."""
    listed = {tag: counts.get(tag, 0.0) for tag in tags}
    rest = sum(count for tag, count in counts.items() if tag not in listed)
    return listed | ({OTHER_TAGS: rest} if rest else {})
