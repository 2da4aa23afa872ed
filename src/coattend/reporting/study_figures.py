"""A study's figures."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from coattend.reporting.figures import GREY, finished, style_of
from coattend.reporting.tables import LABELS, place

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


def breakdown(rows: Sequence[Mapping[str, Any]]) -> "Figure":
    """Each variant's metrics in groups of questions, with their intervals.

    Args:
        rows: Rows of one breakdown and split, as in `coattend.tables.BREAKDOWNS`.

    Returns:
        A panel for each metric.
    """
    from plotly.graph_objects import Scatter

    groups, variants = (list(dict.fromkeys(row[key] for row in rows)) for key in ("group", "title"))
    metrics, figure = _panels(rows)
    for number, title in enumerate(variants):
        offset = 0.5 * ((number + 0.5) / len(variants) - 0.5)
        for panel, metric in enumerate(metrics, start=1):
            own = [row for row in rows if (row["title"], row["metric"]) == (title, metric)]
            dots = Scatter(
                x=[groups.index(row["group"]) + offset for row in own],
                y=[row["mean"] for row in own],
                name=escape(title),
                legendgroup=title,
                showlegend=panel == 1,
                mode="markers",
                error_y=_reach(own),
                customdata=[(escape(row["group"]), row["questions"]) for row in own],
                hovertemplate="%{customdata[0]}, %{customdata[1]} questions: %{y:.1f} %",
                **{"marker": style_of(number)["marker"]},
            )
            figure.add_trace(dots, row=panel, col=1)
    names = [f"{escape(group)}<br>{count}" for group, count in counts(rows).items()]
    places = {"range": [-0.5, len(groups) - 0.5], "tickvals": list(range(len(groups))), "ticktext": names}
    figure.update_xaxes(**places, showgrid=False, zeroline=False)
    figure.update_yaxes(ticksuffix=" %", gridcolor=GREY, griddash="dot", zeroline=False)
    return finished(figure, 120 + 240 * len(metrics))


def _panels(rows: Sequence[Mapping[str, Any]]) -> tuple[list[str], "Figure"]:
    """The metrics of rows, and a figure with a panel for each, one below the other."""
    from plotly.subplots import make_subplots

    metrics = list(dict.fromkeys(row["metric"] for row in rows))
    titles = [LABELS[metric] for metric in metrics]
    return metrics, make_subplots(rows=len(metrics), shared_xaxes=True, vertical_spacing=0.1, subplot_titles=titles)


def scores(rows: Sequence[Mapping[str, Any]]) -> "Figure":
    """Each variant's score with its interval, a mark for each split and group of its questions.

    Args:
        rows: Those that a study asks about, as `coattend.reporting.study_table.asked_rows` has them.

    Returns:
        A panel for each benchmark and metric; without rows an empty figure.
    """
    from plotly.graph_objects import Figure, Scatter
    from plotly.subplots import make_subplots

    if not rows:
        return finished(Figure(), 120)
    panels = list(dict.fromkeys((row["benchmark"], row["metric"]) for row in rows))
    variants = list(dict.fromkeys(row["title"] for row in rows))
    places = list(dict.fromkeys((row["split"], row["group"]) for row in rows))
    titles = [f"{benchmark}: {LABELS[metric]}" for benchmark, metric in panels]
    figure = make_subplots(rows=len(panels), vertical_spacing=0.3 / len(panels), subplot_titles=titles)
    for number, (split, group) in enumerate(places):
        named = False
        for panel, where in enumerate(panels, start=1):
            here = [row for row in rows if (row["benchmark"], row["metric"]) == where]
            own = [row for row in here if (row["split"], row["group"]) == (split, group)]
            if not own:
                continue
            dots = Scatter(
                x=[row["mean"] for row in own],
                y=[variants.index(row["title"]) + 0.5 * ((number + 0.5) / len(places) - 0.5) for row in own],
                name=escape(place(split, group)),
                legendgroup=place(split, group),
                showlegend=not named,
                mode="markers",
                error_x=_reach(own),
                customdata=[escape(row["title"]) for row in own],
                hovertemplate="%{customdata}: %{x:.1f} %",
                marker=style_of(number)["marker"],
            )
            named = True
            figure.add_trace(dots, row=panel, col=1)
    figure.update_yaxes(
        tickvals=list(range(len(variants))),
        ticktext=list(map(escape, variants)),
        range=[len(variants) - 0.4, -0.6],
        showgrid=False,
        zeroline=False,
    )
    figure.update_xaxes(ticksuffix=" %", gridcolor=GREY, griddash="dot", zeroline=False)
    return finished(figure, 60 + len(panels) * (80 + 26 * len(variants)))


def lines(points: Sequence[Mapping[str, Any]], axis: str) -> "Figure":
    """Scores along an axis with their intervals, a line for each series.

    Args:
        points: Rows of one benchmark and split, as in `coattend.tables.STUDY_ROWS`, with ``series`` and ``at``.
        axis: What they stand at.

    Returns:
        A panel for each metric.
    """
    from plotly.graph_objects import Scatter

    series = list(dict.fromkeys(point["series"] for point in points))
    metrics, figure = _panels(points)
    for number, name in enumerate(series):
        for panel, metric in enumerate(metrics, start=1):
            own = [point for point in points if (point["series"], point["metric"]) == (name, metric)]
            own.sort(key=lambda point: point["at"])
            line = Scatter(
                x=[point["at"] for point in own],
                y=[point["mean"] for point in own],
                name=escape(name),
                legendgroup=name,
                showlegend=panel == 1,
                mode="lines+markers",
                error_y=_reach(own),
                customdata=[escape(point["title"]) for point in own],
                hovertemplate="%{customdata}: %{y:.1f} %",
                **style_of(number),
            )
            figure.add_trace(line, row=panel, col=1)
    figure.update_xaxes(zeroline=False, gridcolor=GREY, griddash="dot").update_xaxes(
        title={"text": escape(axis.capitalize()), "font": {"size": 13}}, row=len(metrics)
    )
    figure.update_yaxes(ticksuffix=" %", gridcolor=GREY, griddash="dot", zeroline=False)
    return finished(figure, 120 + 280 * len(metrics))


def counts(rows: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Group to how many questions it has; variants that read other tags may group otherwise by parts of speech."""
    found: dict[str, set[int]] = {}
    for row in rows:
        found.setdefault(row["group"], set()).add(row["questions"])
    return {group: " to ".join(f"{end:,}" for end in sorted({min(n), max(n)})) for group, n in found.items()}


def _reach(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Bars from the lower to the upper ends of intervals; none where there is none."""
    return {
        "type": "data",
        "symmetric": False,
        "array": [(row["mean"] if row["high"] is None else row["high"]) - row["mean"] for row in rows],
        "arrayminus": [row["mean"] - (row["mean"] if row["low"] is None else row["low"]) for row in rows],
        "thickness": 2,
        "width": 0,
    }
