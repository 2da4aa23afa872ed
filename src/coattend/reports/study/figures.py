"""Figures of a study: scores, breakdowns, lines along an axis and parts of speech, each as panels by metric."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, TypedDict

from coattend.evaluation.records import BreakdownRow
from coattend.reports.figures import COLOURS, GRID, NO_GRID, apply_layout, error_bars, name_ticks, trace_style
from coattend.reports.records import StudyRow
from coattend.reports.tables import METRIC_TITLES, format_questions

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

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


def score_figure(rows: Sequence[StudyRow]) -> "Figure":
    """Draw each variant's score with its interval, a marker for each split and group of questions.

    Args:
        rows: Rows of the groups of questions that the study asks about.

    Returns:
        A panel for each benchmark and metric; without rows an empty figure.
    """
    from plotly.graph_objects import Figure, Scatter
    from plotly.subplots import make_subplots

    if not rows:
        return apply_layout(Figure(), 120)
    # Everything is drawn in the order in which the rows come.
    panels = list(dict.fromkeys((row["benchmark"], row["metric"]) for row in rows))
    variants = list(dict.fromkeys(row["title"] for row in rows))
    question_groups = list(dict.fromkeys((row["split"], row["group"]) for row in rows))
    titles = [f"{benchmark}: {METRIC_TITLES[metric]}" for benchmark, metric in panels]
    figure = make_subplots(rows=len(panels), vertical_spacing=0.3 / len(panels), subplot_titles=titles)
    for index, (split, group) in enumerate(question_groups):
        name, offset = format_questions(split, group), _offset(index, len(question_groups))
        in_legend = False
        for panel, (benchmark, metric) in enumerate(panels, start=1):
            key = (benchmark, metric, split, group)
            drawn = [row for row in rows if (row["benchmark"], row["metric"], row["split"], row["group"]) == key]
            if not drawn:
                continue
            dots = Scatter(
                x=[row["mean"] for row in drawn],
                y=[variants.index(row["title"]) + offset for row in drawn],
                name=escape(name),
                legendgroup=name,
                showlegend=not in_legend,
                mode="markers",
                error_x=error_bars(drawn),
                customdata=[escape(row["title"]) for row in drawn],
                hovertemplate="%{customdata}: %{x:.1f} %",
                marker=trace_style(index)["marker"],
            )
            in_legend = True
            figure.add_trace(dots, row=panel, col=1)
    figure.update_yaxes(**name_ticks(variants))
    figure.update_xaxes(ticksuffix=" %", **GRID)
    return apply_layout(figure, 60 + len(panels) * (80 + 26 * len(variants)))


def breakdown_figure(rows: Sequence[BreakdownRow]) -> "Figure":
    """Draw each variant's scores in groups of questions, with their intervals.

    Args:
        rows: Rows of one breakdown, benchmark and split.

    Returns:
        A panel for each metric.
    """
    from plotly.graph_objects import Scatter

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
                name=escape(title),
                legendgroup=title,
                showlegend=panel == 1,
                mode="markers",
                error_y=error_bars(drawn),
                customdata=[(escape(row["group"]), row["questions"]) for row in drawn],
                hovertemplate="%{customdata[0]}, %{customdata[1]} questions: %{y:.1f} %",
                marker=trace_style(index)["marker"],
            )
            figure.add_trace(dots, row=panel, col=1)
    # Ticks have the number of questions below the name of the group.
    ticks = [f"{escape(group)}<br>{count}" for group, count in question_counts(rows).items()]
    figure.update_xaxes(range=[-0.5, len(groups) - 0.5], tickvals=list(range(len(groups))), ticktext=ticks, **NO_GRID)
    figure.update_yaxes(ticksuffix=" %", **GRID)
    return apply_layout(figure, 120 + 240 * len(metrics))


def line_figure(points: Sequence[LinePoint], axis: str) -> "Figure":
    """Draw scores along an axis with their intervals, a line for each series.

    Args:
        points: Points of one benchmark, split and group.
        axis: Title of the axis.

    Returns:
        A panel for each metric.
    """
    from plotly.graph_objects import Scatter

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
                name=escape(name),
                legendgroup=name,
                showlegend=panel == 1,
                mode="lines+markers",
                error_y=error_bars([point["row"] for point in drawn]),
                customdata=[escape(point["row"]["title"]) for point in drawn],
                hovertemplate="%{customdata}: %{y:.1f} %",
                **trace_style(index),
            )
            figure.add_trace(line, row=panel, col=1)
    figure.update_xaxes(**GRID)
    figure.update_xaxes(title={"text": escape(axis.capitalize()), "font": {"size": 13}}, row=len(metrics))
    figure.update_yaxes(ticksuffix=" %", **GRID)
    return apply_layout(figure, 120 + 280 * len(metrics))


def _metric_panels(metrics: Sequence[str]) -> "Figure":
    """Make a figure with a panel for each metric, one below the other."""
    from plotly.subplots import make_subplots

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


def boundary_figure(predicted: Mapping[str, TagCounts], wrong: Mapping[str, TagCounts]) -> "Figure":
    """Draw the share of each part of speech among the words at which answers begin and end, in percent.

    Args:
        predicted: Gold answers or a variant to its counts.
        wrong: Variant to the counts of its wrong predictions, by the gold word's tag.

    Returns:
        A panel for all words and one for wrong ones, with a bar for each series and tag.
    """
    from plotly.graph_objects import Bar
    from plotly.subplots import make_subplots

    tags, names = _most_frequent_tags(predicted), list(predicted)
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
                name=escape(name),
                legendgroup=name,
                showlegend=panel == 1,
                marker={"color": COLOURS[index % len(COLOURS)], "pattern": pattern},
                customdata=list(counts.values()),
                hovertemplate="%{x}: %{y:.1f} %, %{customdata:,.0f} words",
            )
            figure.add_trace(bars, row=panel, col=1)
    figure.update_xaxes(**NO_GRID, categoryorder="array", categoryarray=[*tags, OTHER_TAGS])
    figure.update_yaxes(ticksuffix=" %", **GRID)
    return apply_layout(figure, 600)


def _most_frequent_tags(counts_by_name: Mapping[str, TagCounts]) -> list[str]:
    totals: dict[str, float] = {}
    for counts in counts_by_name.values():
        for tag, count in counts.items():
            totals[tag] = totals.get(tag, 0) + count
    return sorted(totals, key=lambda tag: -totals[tag])[:MOST_TAGS]


def _pool_other_tags(counts: TagCounts, tags: Sequence[str]) -> dict[str, float]:
    """Count the tags of a list, and the rest together."""
    listed = {tag: counts.get(tag, 0.0) for tag in tags}
    rest = sum(count for tag, count in counts.items() if tag not in listed)
    return listed | ({OTHER_TAGS: rest} if rest else {})
