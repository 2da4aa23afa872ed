"""Figures of benchmarks, and what all figures look like: series differ by colour (Okabe and Ito), marker and dash."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import chain
from typing import Any

import numpy as np
from plotly.graph_objects import Bar, Figure, Scatter
from plotly.subplots import make_subplots

from coattend.evaluation.groups import EVERYTHING
from coattend.evaluation.records import Calibration, Estimate, Score, TrialRecord
from coattend.evaluation.runs import curve_questions
from coattend.evaluation.summary import METRICS
from coattend.reports.comparison import scored_readers, scores_on
from coattend.reports.records import BenchmarkResults
from coattend.reports.render import render_template
from coattend.reports.tables import METRIC_TITLES, format_interval

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
MARKERS = ("circle", "square", "diamond", "triangle-up", "x", "star")
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
GREY = "#808890"
"""Colour of everything without data; readable on white and on black."""

GRID = {"gridcolor": GREY, "griddash": "dot", "zeroline": False}
NO_GRID = {"showgrid": False, "zeroline": False}
PERCENT = {"ticksuffix": " %", **GRID}

CHANCE = {"options": "guessing", "word": "guessing", "span": "answering nothing"}
"""Task to the way of answering that reaches its chance level."""

_READER_HEIGHT = 26  # Pixels for each reader and split.

PlotlyStyle = dict[str, Any]
"""Properties of a trace, an axis or a layout, as plotly names them."""

LAYOUT: PlotlyStyle = {
    "template": "none",
    "margin": {"l": 10, "r": 10, "t": 60, "b": 30},
    "paper_bgcolor": "rgba(0,0,0,0)",
    "plot_bgcolor": "rgba(0,0,0,0)",
    "font": {"color": GREY, "size": 13},
    "showlegend": True,
    "legend": {"orientation": "h", "x": 0, "y": 1, "yanchor": "top", "yref": "container"},
    "hoverlabel": {"align": "left"},
}
"""Layout of all figures but for their heights."""


def trace_style(index: int) -> PlotlyStyle:
    """Style the series at an index of a legend; the first 36 differ."""
    colour, turn = COLOURS[index % len(COLOURS)], index // len(COLOURS)
    return {
        "line": {"color": colour, "dash": DASHES[turn % len(DASHES)], "width": 2},
        "marker": {"color": colour, "symbol": MARKERS[(index + turn) % len(MARKERS)], "size": 9},
    }


def draw_series(figure: Figure, panel: int, name: str, trace: Scatter | Bar) -> None:
    """Add a trace to a panel, counted from 1; its series is in the legend once for all panels."""
    in_legend = any(drawn.legendgroup == name for drawn in figure.data)
    trace.update(name=escape(name), legendgroup=name, showlegend=not in_legend)
    figure.add_trace(trace, row=panel, col=1)


def plotly_text(*lines: str, box: str | None = None) -> str:
    """Write lines in plotly's markup, and the text of the box beside a hover text."""
    return render_template("plotly_text.j2", lines=lines, box=box)


def apply_layout(figure: Figure, height: int) -> Figure:
    """Give a figure the common layout, and its height in pixels."""
    # Subplot titles are annotations, centred by default.
    figure.update_annotations(x=0, xanchor="left", font={"size": 13})
    figure.update_yaxes(automargin=True).update_xaxes(automargin=True)
    return figure.update_layout(LAYOUT, height=height)


def axis_title(text: str) -> PlotlyStyle:
    """Title an axis in the size of all other texts."""
    return {"text": escape(text), "font": {"size": 13}}


def name_ticks(names: Sequence[str]) -> PlotlyStyle:
    """Set up a vertical axis with one named row for each name, the first on top."""
    return {
        "tickvals": list(range(len(names))),
        "ticktext": list(map(escape, names)),
        "range": [len(names) - 0.4, -0.6],
        **NO_GRID,
    }


def error_bars(estimates: Iterable[Estimate]) -> PlotlyStyle:
    """Draw intervals as bars; none where an estimate has no interval."""
    ends = [(estimate["mean"], *interval_ends(estimate)) for estimate in estimates]
    return {
        "type": "data",
        "symmetric": False,
        "array": [high - mean for mean, _, high in ends],
        "arrayminus": [mean - low for mean, low, _ in ends],
        "thickness": 2,
        "width": 0,
    }


def interval_ends(estimate: Estimate) -> tuple[float, float]:
    """Return the ends of an interval; without one, the mean twice."""
    mean, low, high = estimate["mean"], estimate["low"], estimate["high"]
    return (mean, mean) if low is None or high is None else (low, high)


def dot_plot(results: BenchmarkResults) -> Figure:
    """Draw each reader's metrics with their intervals, and the chance level, in a panel for each task and metric."""
    readers = {task: scored_readers(results, task) for task in results["baselines"]}
    # Panels are ordered by task, then by metric.
    panels = [(task, metric) for task in readers for metric in METRICS[task]]
    if not panels:
        return Figure(layout=LAYOUT | {"height": 120})
    splits = sorted(
        {split for by_name in readers.values() for metrics in by_name.values() for split in metrics["splits"]}
    )
    # A panel's share of the height grows with its readers and splits; two rows are for its title and axis.
    weights = [len(readers[task]) * max(len(splits), 1.5) + 2 for task, _ in panels]
    height = 60 + _READER_HEIGHT * round(sum(weights))
    # The task is named only where there are several.
    titles = [METRIC_TITLES[metric] + (f", {task}" if len(readers) > 1 else "") for task, metric in panels]
    figure = make_subplots(
        rows=len(panels),
        row_heights=[weight / sum(weights) for weight in weights],
        vertical_spacing=min(75 / height, 0.9 / max(1, len(panels) - 1)),
        subplot_titles=titles,
    )
    for panel, (task, metric) in enumerate(panels, start=1):
        scores_by_split = {split: scores_on(readers[task], split, metric) for split in splits}
        for index, (split, scores) in enumerate(scores_by_split.items()):
            # Splits of one reader are drawn below each other around its tick.
            offset = 0.6 * (index - (len(splits) - 1) / 2) / len(splits)
            if scores:
                rows = [list(readers[task]).index(name) + offset for name in scores]
                draw_series(figure, panel, split, _dots(scores, rows, split, trace_style(index)["marker"]))
        # Chance is a dotted line across the panel.
        levels = chance_levels(results, task)
        for level in levels:
            figure.add_vline(level, row=panel, col=1, line={"color": GREY, "width": 1.5, "dash": "dot"})
        # The axis leaves two points on each side, within the range of percentages.
        drawn = [score for scores in scores_by_split.values() for score in scores.values()]
        ends = [*levels, *(end for score in drawn for end in interval_ends(score))]
        figure.update_xaxes(range=(max(min(ends) - 2, -1), min(max(ends) + 2, 101)), row=panel)
        figure.update_yaxes(**name_ticks(list(readers[task])), row=panel)
    figure.update_xaxes(**PERCENT)
    return apply_layout(figure, height)


def _dots(scores: Mapping[str, Score], rows: Sequence[float], split: str, marker: PlotlyStyle) -> Scatter:
    """Draw a dot with its interval for each reader, in the reader's row."""
    return Scatter(
        x=[score["mean"] for score in scores.values()],
        y=rows,
        mode="markers",
        marker=marker,
        error_x={**error_bars(scores.values()), "color": marker["color"]},
        customdata=[(escape(name), format_interval(score)) for name, score in scores.items()],
        hovertemplate=plotly_text("%{customdata[0]}: %{x:.1f} % %{customdata[1]}", box=split),
    )


def dot_plot_caption(results: BenchmarkResults) -> str:
    """Say what the dot plot shows."""
    dotted = [
        f"{CHANCE[task]}, {' and '.join(f'{level} %' for level in levels)}"
        for task in results["baselines"]
        if (levels := chance_levels(results, task))
    ]
    return "Each reader's score with its interval." + (f" Dotted: {'; '.join(dotted)}." if dotted else "")


def chance_levels(results: BenchmarkResults, task: str) -> list[float]:
    """Collect the different chance levels of a task's splits, in percent, without zero."""
    chance = results["chance"].get(task, {})
    return sorted({round(groups[EVERYTHING], 1) for groups in chance.values() if groups[EVERYTHING] > 0})


def training_curves(trials_by_name: Mapping[str, Sequence[TrialRecord]], task: str) -> Figure:
    """Draw training loss and scores by step, a line for each trial of a reader or variant.

    The scores are those of the questions that checkpoints are chosen on.
    """
    questions = curve_questions(chain.from_iterable(trials_by_name.values()))
    titles = ["Training loss", f"{METRIC_TITLES[METRICS[task][-1]]} on {questions}"]
    figure = make_subplots(rows=2, shared_xaxes=True, vertical_spacing=0.12, subplot_titles=titles)
    for index, (name, trials) in enumerate(trials_by_name.items()):
        for trial in trials:
            curve = trial.get("curve") or []
            losses = [(point["step"], loss) for point in curve if (loss := point.get("loss")) is not None]
            scores = [
                (point["step"], 100 * held_out) for point in curve if (held_out := point.get("held_out")) is not None
            ]
            # Losses and held-out scores are logged at different steps.
            for panel, points in enumerate((losses, scores) if curve else (), start=1):
                line = Scatter(
                    x=[step for step, _ in points],
                    y=[value for _, value in points],
                    mode="lines" if panel == 1 else "lines+markers",
                    hovertemplate=plotly_text(f"{name}, seed {trial['seed']}", "step %{x}: %{y:.3g}", box=""),
                    **trace_style(index),
                )
                draw_series(figure, panel, name, line)
    figure.update_xaxes(**GRID).update_xaxes(title=axis_title("Step"), row=2)
    figure.update_yaxes(**GRID).update_yaxes(ticksuffix=" %", row=2)
    return apply_layout(figure, 520)


def risk_coverage_curves(panels: Mapping[str, Mapping[str, Calibration]]) -> Figure:
    """Draw risk against coverage, a panel for each split with a line for each reader: the mean over its seeds."""
    # A reader has the same style in all panels.
    names = list(dict.fromkeys(name for readers in panels.values() for name in readers))
    height = 60 + 260 * len(panels)
    titles = [f"Risk, {split}" for split in panels]
    figure = make_subplots(rows=len(panels), vertical_spacing=90 / height, subplot_titles=titles)
    for panel, readers in enumerate(panels.values(), start=1):
        for name, calibration in readers.items():
            seeds = list(calibration["risk_coverage"].values())
            line = Scatter(
                x=seeds[0]["coverage"],
                y=np.mean([curve["risk"] for curve in seeds], axis=0).tolist(),
                mode="lines",
                line=trace_style(names.index(name))["line"],
                hovertemplate=plotly_text(name, "%{x:.0f} % answered: %{y:.1f} % wrong", box=""),
            )
            draw_series(figure, panel, name, line)
    figure.update_xaxes(range=[0, 104], tickvals=[20, 40, 60, 80, 100], **PERCENT)
    figure.update_xaxes(title=axis_title("Coverage: questions answered, the surest first"))
    figure.update_yaxes(rangemode="tozero", **PERCENT)
    return apply_layout(figure, height)


def share_bars(shares: Mapping[str, float]) -> Figure:
    """Draw percentages as bars."""
    bars = Bar(x=list(shares), y=list(shares.values()), marker={"color": COLOURS[0]}, showlegend=False)
    return apply_layout(Figure(bars), 300).update_yaxes(ticksuffix=" %", gridcolor=GREY, griddash="dot")
