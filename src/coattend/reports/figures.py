"""Figures of benchmarks, and what all figures look like: series differ by colour (Okabe and Ito), marker and dash."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from coattend.evaluation.groups import EVERYTHING
from coattend.evaluation.records import BreakdownRow, Calibration, ReaderMetrics, Score, TrialRecord, score_of
from coattend.evaluation.summary import METRICS
from coattend.reports.records import BenchmarkResults, StudyRow
from coattend.reports.tables import METRIC_TITLES

if TYPE_CHECKING:
    from plotly.graph_objects import Figure, Scatter

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
MARKERS = ("circle", "square", "diamond", "triangle-up", "x", "star")
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
GREY = "#808890"
"""Colour of everything without data; readable on white and on black."""

GRID = {"gridcolor": GREY, "griddash": "dot", "zeroline": False}
NO_GRID = {"showgrid": False, "zeroline": False}

CHANCE = {"options": "guessing", "word": "guessing", "span": "answering nothing"}
"""Task to the way of answering that reaches its chance level."""

_READER_HEIGHT = 26  # Pixels for each reader and split.

ReadersOfTask = Mapping[str, ReaderMetrics]


def trace_style(index: int) -> dict[str, Any]:
    """Style the series at an index of a legend; the first 36 differ."""
    colour = COLOURS[index % len(COLOURS)]
    return {
        "line": {"color": colour, "dash": DASHES[index // len(COLOURS) % len(DASHES)], "width": 2},
        "marker": {"color": colour, "symbol": MARKERS[index % len(MARKERS)], "size": 9},
    }


def apply_layout(figure: "Figure", height: int) -> "Figure":
    """Give a figure the common layout, and its height in pixels."""
    # Subplot titles are annotations, centred by default.
    figure.update_annotations(x=0, xanchor="left", font={"size": 13})
    figure.update_yaxes(automargin=True).update_xaxes(automargin=True)
    return figure.update_layout(_layout(height))


def _layout(height: int) -> dict[str, Any]:
    return {
        "template": "none",
        "height": height,
        "margin": {"l": 10, "r": 10, "t": 60, "b": 30},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"color": GREY, "size": 13},
        "showlegend": True,
        "legend": {"orientation": "h", "x": 0, "y": 1, "yanchor": "top", "yref": "container"},
        "hoverlabel": {"align": "left"},
    }


def name_ticks(names: Sequence[str]) -> dict[str, Any]:
    """Set up a vertical axis with one named row for each name, the first on top."""
    return {
        "tickvals": list(range(len(names))),
        "ticktext": list(map(escape, names)),
        "range": [len(names) - 0.4, -0.6],
        **NO_GRID,
    }


def error_bars(rows: Sequence[StudyRow] | Sequence[BreakdownRow]) -> dict[str, Any]:
    """Draw intervals as bars; none where a row has no interval."""
    return {
        "type": "data",
        "symmetric": False,
        "array": [(row["mean"] if row["high"] is None else row["high"]) - row["mean"] for row in rows],
        "arrayminus": [row["mean"] - (row["mean"] if row["low"] is None else row["low"]) for row in rows],
        "thickness": 2,
        "width": 0,
    }


def dot_plot(results: BenchmarkResults, readers: Mapping[str, ReadersOfTask]) -> "Figure":
    """Draw each reader's metrics with their intervals, and the chance level.

    Args:
        results: The comparison.
        readers: Task to its scored readers.

    Returns:
        One panel for each task and metric; without scored readers an empty figure.
    """
    from plotly.graph_objects import Figure
    from plotly.subplots import make_subplots

    # Panels are ordered by task, then by metric.
    panels = [(task, metric) for task in readers for metric in METRICS[task]]
    if not panels:
        return Figure(layout=_layout(height=120))
    splits = sorted(
        {split for by_name in readers.values() for metrics in by_name.values() for split in metrics["splits"]}
    )
    # A panel's share of the height grows with its readers and splits; two rows are for its title and axis.
    weights = [len(readers[task]) * max(len(splits), 1.5) + 2 for task, _ in panels]
    height = 60 + _READER_HEIGHT * round(sum(weights))
    figure = make_subplots(
        rows=len(panels),
        row_heights=[weight / sum(weights) for weight in weights],
        vertical_spacing=min(75 / height, 0.9 / max(1, len(panels) - 1)),
        subplot_titles=[_panel_title(task, metric, several_tasks=len(readers) > 1) for task, metric in panels],
    )
    in_legend: set[str] = set()
    for row, (task, metric) in enumerate(panels, start=1):
        for index, split in enumerate(splits):
            # Splits of one reader are drawn below each other around its tick.
            offset = 0.6 * (index - (len(splits) - 1) / 2) / len(splits)
            dots = _dots(readers[task], split, metric, offset, trace_style(index))
            if dots is not None:
                figure.add_trace(dots.update(showlegend=split not in in_legend), row=row, col=1)
                in_legend.add(split)
        # Chance is a dotted line across the panel.
        levels = chance_levels(results, task)
        for level in levels:
            figure.add_vline(level, row=row, col=1, line={"color": GREY, "width": 1.5, "dash": "dot"})
        figure.update_xaxes(range=_axis_range(readers[task], metric, levels), row=row)
        figure.update_yaxes(**name_ticks(list(readers[task])), row=row)
    figure.update_xaxes(ticksuffix=" %", **GRID)
    return apply_layout(figure, height)


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


def _dots(readers: ReadersOfTask, split: str, metric: str, offset: float, style: Mapping[str, Any]) -> "Scatter | None":
    """Draw a dot with its interval for each reader; None if none was scored on the split."""
    from plotly.graph_objects import Scatter

    scored = {
        (index, name): _score_with_interval(score_of(metrics["splits"][split][EVERYTHING], metric))
        for index, (name, metrics) in enumerate(readers.items())
        if split in metrics["splits"]
    }
    if not scored:
        return None
    return Scatter(
        x=[mean for mean, _, _ in scored.values()],
        y=[index + offset for index, _ in scored],
        name=escape(split),
        legendgroup=split,
        mode="markers",
        marker=style["marker"],
        error_x={
            "type": "data",
            "symmetric": False,
            "array": [high - mean for mean, _, high in scored.values()],
            "arrayminus": [mean - low for mean, low, _ in scored.values()],
            "color": style["marker"]["color"],
            "thickness": 2,
            "width": 0,
        },
        customdata=[(escape(name), low, high) for (_, name), (_, low, high) in scored.items()],
        hovertemplate="%{customdata[0]}: %{x:.1f} % [%{customdata[1]:.1f}, %{customdata[2]:.1f}]"
        f"<extra>{escape(split)}</extra>",
    )


def _score_with_interval(score: Score) -> tuple[float, float, float]:
    """Mean, low and high; without an interval the mean three times."""
    mean, low, high = score["mean"], score["low"], score["high"]
    return (mean, mean, mean) if low is None or high is None else (mean, low, high)


def _axis_range(readers: ReadersOfTask, metric: str, levels: Iterable[float]) -> tuple[float, float]:
    """Choose an axis that shows all intervals and chance levels."""
    # The axis leaves two points on each side, within the range of percentages.
    ends = [
        end
        for metrics in readers.values()
        for groups in metrics["splits"].values()
        for end in _score_with_interval(score_of(groups[EVERYTHING], metric))
    ]
    ends += levels
    return max(min(ends) - 2, -1), min(max(ends) + 2, 101)


def _panel_title(task: str, metric: str, *, several_tasks: bool) -> str:
    return f"{METRIC_TITLES[metric]}, {task}" if several_tasks else METRIC_TITLES[metric]


def training_curves(trials_by_name: Mapping[str, Sequence[TrialRecord]], task: str) -> "Figure":
    """Draw training loss and held-out score by step, a line for each trial.

    Args:
        trials_by_name: Reader or variant to its trials.
        task: Task of the readers.
    """
    from plotly.graph_objects import Scatter
    from plotly.subplots import make_subplots

    held_out_title = f"{METRIC_TITLES[METRICS[task][-1]]} on held-out questions"
    figure = make_subplots(
        rows=2, shared_xaxes=True, vertical_spacing=0.12, subplot_titles=["Training loss", held_out_title]
    )
    for index, (name, trials) in enumerate(trials_by_name.items()):
        with_curves = [trial for trial in trials if trial.get("curve")]
        for trial_index, trial in enumerate(with_curves):
            losses = [(point["step"], loss) for point in trial["curve"] if (loss := point.get("loss")) is not None]
            scores = [
                (point["step"], 100 * held_out)
                for point in trial["curve"]
                if (held_out := point.get("held_out")) is not None
            ]
            # Losses and held-out scores are logged at different steps.
            label = f"{escape(name)}, seed {trial['seed']}"
            for row, points in enumerate((losses, scores), start=1):
                line = Scatter(
                    x=[step for step, _ in points],
                    y=[value for _, value in points],
                    name=escape(name),
                    legendgroup=name,
                    showlegend=trial_index == 0 and row == 1,
                    mode="lines" if row == 1 else "lines+markers",
                    hovertemplate=f"{label}<br>step %{{x}}: %{{y:.3g}}<extra></extra>",
                    **trace_style(index),
                )
                figure.add_trace(line, row=row, col=1)
    figure.update_xaxes(**GRID).update_xaxes(title={"text": "Step", "font": {"size": 13}}, row=2)
    figure.update_yaxes(**GRID).update_yaxes(ticksuffix=" %", row=2)
    return apply_layout(figure, 520)


def risk_coverage_curves(panels: Mapping[str, Mapping[str, Calibration]]) -> "Figure":
    """Draw the share of wrong answers against the share of questions answered, the most confident first.

    Args:
        panels: Split to reader to its calibration.

    Returns:
        A panel for each split, with a line for each reader: the mean over its seeds.
    """
    from plotly.graph_objects import Scatter
    from plotly.subplots import make_subplots

    # A reader has the same style in all panels.
    names = list(dict.fromkeys(name for readers in panels.values() for name in readers))
    height = 60 + 260 * len(panels)
    titles = [f"Risk, {split}" for split in panels]
    figure = make_subplots(rows=len(panels), vertical_spacing=90 / height, subplot_titles=titles)
    in_legend: set[str] = set()
    for row, readers in enumerate(panels.values(), start=1):
        for name, calibration in readers.items():
            seeds = list(calibration["risk_coverage"].values())
            line = Scatter(
                x=seeds[0]["coverage"],
                y=np.mean([curve["risk"] for curve in seeds], axis=0).tolist(),
                name=escape(name),
                legendgroup=name,
                showlegend=name not in in_legend,
                mode="lines",
                line=trace_style(names.index(name))["line"],
                hovertemplate=f"{escape(name)}<br>%{{x:.0f}} % answered: %{{y:.1f}} % wrong<extra></extra>",
            )
            figure.add_trace(line, row=row, col=1)
            in_legend.add(name)
    figure.update_xaxes(range=[0, 104], tickvals=[20, 40, 60, 80, 100], ticksuffix=" %", **GRID)
    figure.update_xaxes(title={"text": "Coverage: questions answered, the surest first", "font": {"size": 13}})
    figure.update_yaxes(ticksuffix=" %", rangemode="tozero", **GRID)
    return apply_layout(figure, height)


def share_bars(shares: Mapping[str, float]) -> "Figure":
    """Draw percentages as bars."""
    from plotly.graph_objects import Bar, Figure

    bars = Bar(x=list(shares), y=list(shares.values()), marker={"color": COLOURS[0]}, showlegend=False)
    return apply_layout(Figure(bars), 300).update_yaxes(ticksuffix=" %", gridcolor=GREY, griddash="dot")
