"""The page's figures, told apart by colour, mark and dash alike (colours: Okabe and Ito)."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from coattend.evaluation.groups import EVERYTHING
from coattend.evaluation.scoring import METRICS
from coattend.reporting.tables import LABELS, scored

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
MARKS = ("circle", "square", "diamond", "triangle-up", "x", "star")
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
GREY = "#808890"
"""For all that carries no data; readable on white and on black."""

GUESSING = {"options": "guessing", "word": "guessing", "span": "answering nothing"}
"""How the chance level of a task is reached."""

_LINE = 26  # Pixels for each reader and split.


def dot_plot(results: dict[str, Any]) -> "Figure":
    """Each reader's metrics with their intervals, and what guessing scores.

    Args:
        results: What `coattend.reporting.comparison.compare` returned.

    Returns:
        One panel for each task and metric; without scored readers an empty figure.
    """
    from plotly.graph_objects import Figure
    from plotly.subplots import make_subplots

    panels = [(task, metric) for task in results["baselines"] for metric in METRICS[task]]
    if not panels:
        return Figure(layout=_layout(height=120))
    readers = {task: scored(results, task) for task in results["baselines"]}
    splits = sorted({split for given in readers.values() for metrics in given.values() for split in metrics["splits"]})
    weights = [len(readers[task]) * max(len(splits), 1.5) + 2 for task, _ in panels]
    height = 60 + _LINE * round(sum(weights))
    figure = make_subplots(
        rows=len(panels),
        row_heights=[weight / sum(weights) for weight in weights],
        vertical_spacing=min(75 / height, 0.9 / max(1, len(panels) - 1)),
        subplot_titles=[_panel_title(results, task, metric) for task, metric in panels],
    )
    named: set[str] = set()
    for row, (task, metric) in enumerate(panels, start=1):
        for place, split in enumerate(splits):
            offset = 0.6 * (place - (len(splits) - 1) / 2) / len(splits)
            points = _points(readers[task], split, metric, offset, style_of(place))
            if points is not None:
                figure.add_trace(points.update(showlegend=split not in named), row=row, col=1)
                named.add(split)
        for level in _levels(results, task):
            figure.add_vline(level, row=row, col=1, line={"color": GREY, "width": 1.5, "dash": "dot"})
        figure.update_xaxes(range=_reach(results, readers[task], task, metric), row=row)
        names = [escape(name) for name in readers[task]]
        figure.update_yaxes(
            tickvals=list(range(len(names))),
            ticktext=names,
            range=[len(names) - 0.4, -0.6],
            showgrid=False,
            zeroline=False,
            row=row,
        )
    figure.update_xaxes(ticksuffix=" %", gridcolor=GREY, griddash="dot", zeroline=False)
    return finished(figure, height)


def dot_plot_caption(results: dict[str, Any]) -> str:
    """What the dot plot shows, in a sentence or two."""
    dotted = [
        f"{GUESSING[task]}, {' and '.join(f'{level} %' for level in levels)}"
        for task in results["baselines"]
        if (levels := _levels(results, task))
    ]
    return "Each reader's score with its interval." + (f" Dotted: {'; '.join(dotted)}." if dotted else "")


def curves(readers: Mapping[str, Sequence[Mapping[str, Any]]], task: str) -> "Figure":
    """Training loss and the metric on held-out questions, step by step, a line for each seed of each reader.

    Args:
        readers: What each reader's trials came to.
        task: What they answer.
    """
    from plotly.graph_objects import Scatter
    from plotly.subplots import make_subplots

    name_of_metric = f"{LABELS[METRICS[task][-1]]} on held-out questions"
    figure = make_subplots(
        rows=2, shared_xaxes=True, vertical_spacing=0.12, subplot_titles=["Training loss", name_of_metric]
    )
    for place, (name, trials) in enumerate(readers.items()):
        style = style_of(place)
        for nth, trial in enumerate(trial for trial in trials if trial.get("curve")):
            for row, (key, scale) in enumerate((("loss", 1), ("held_out", 100)), start=1):
                points = [point for point in trial["curve"] if point.get(key) is not None]
                label = f"{escape(name)}, seed {trial['seed']}"
                figure.add_trace(
                    Scatter(
                        x=[point["step"] for point in points],
                        y=[scale * point[key] for point in points],
                        name=escape(name),
                        legendgroup=name,
                        showlegend=nth == 0 and row == 1,
                        mode="lines" if row == 1 else "lines+markers",
                        hovertemplate=f"{label}<br>step %{{x}}: %{{y:.3g}}<extra></extra>",
                        **style,
                    ),
                    row=row,
                    col=1,
                )
    figure.update_xaxes(zeroline=False, gridcolor=GREY, griddash="dot").update_xaxes(
        title={"text": "Step", "font": {"size": 13}}, row=2
    )
    figure.update_yaxes(zeroline=False, gridcolor=GREY, griddash="dot").update_yaxes(ticksuffix=" %", row=2)
    return finished(figure, 520)


def _points(readers: dict[str, Any], split: str, metric: str, offset: float, style: dict[str, Any]) -> Any:
    """One dot and its interval for each reader, or None where none was scored on the split."""
    from plotly.graph_objects import Scatter

    found = [
        (place + offset, name, *_ends(given["splits"][split][EVERYTHING][metric]))
        for place, (name, given) in enumerate(readers.items())
        if split in given["splits"]
    ]
    if not found:
        return None
    heights, names, means, lows, highs = zip(*found, strict=True)
    return Scatter(
        x=means,
        y=heights,
        name=escape(split),
        legendgroup=split,
        mode="markers",
        marker=style["marker"],
        error_x={
            "type": "data",
            "symmetric": False,
            "array": [high - mean for high, mean in zip(highs, means, strict=True)],
            "arrayminus": [mean - low for low, mean in zip(lows, means, strict=True)],
            "color": style["marker"]["color"],
            "thickness": 2,
            "width": 0,
        },
        customdata=[(escape(name), low, high) for name, low, high in zip(names, lows, highs, strict=True)],
        hovertemplate="%{customdata[0]}: %{x:.1f} % [%{customdata[1]:.1f}, %{customdata[2]:.1f}]"
        f"<extra>{escape(split)}</extra>",
    )


def _ends(value: dict[str, Any]) -> tuple[float, float, float]:
    """Mean, low and high; where there is no interval, the mean three times."""
    if value["low"] is None:
        return value["mean"], value["mean"], value["mean"]
    return value["mean"], value["low"], value["high"]


def _reach(results: dict[str, Any], readers: dict[str, Any], task: str, metric: str) -> tuple[float, float]:
    """An axis that shows all intervals and what guessing scores."""
    shown = [
        end for given in readers.values() for s in given["splits"].values() for end in _ends(s[EVERYTHING][metric])
    ]
    shown += _levels(results, task)
    return max(min(shown) - 2, -1), min(max(shown) + 2, 101)


def _levels(results: dict[str, Any], task: str) -> list[float]:
    chance = results["chance"].get(task, {})
    return sorted({round(groups[EVERYTHING], 1) for groups in chance.values() if groups[EVERYTHING] > 0})


def _panel_title(results: dict[str, Any], task: str, metric: str) -> str:
    return f"{LABELS[metric]}, {task}" if len(results["baselines"]) > 1 else LABELS[metric]


def style_of(place: int) -> dict[str, Any]:
    """How the thing at a place of a legend looks; the first 36 differ."""
    colour = COLOURS[place % len(COLOURS)]
    return {
        "line": {"color": colour, "dash": DASHES[place // len(COLOURS) % len(DASHES)], "width": 2},
        "marker": {"color": colour, "symbol": MARKS[place % len(MARKS)], "size": 9},
    }


def finished(figure: "Figure", height: int) -> "Figure":
    """A figure in the page's looks, so many pixels high."""
    figure.update_annotations(x=0, xanchor="left", font={"size": 13})
    figure.update_yaxes(automargin=True).update_xaxes(automargin=True)
    return figure.update_layout(_layout(height=height))


def _layout(*, height: int) -> dict[str, Any]:
    """What all figures share."""
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
