"""How sure readers are beside how often they are right: tables, and the figure of risk against coverage."""

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from coattend.evaluation.calibration import BINS
from coattend.evaluation.groups import EVERYTHING
from coattend.reporting.figures import GREY, finished, style_of
from coattend.reporting.tables import NONE, Cell, Table, scored

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


def tasks(results: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The tasks of which a reader is sure or not, each with what names it where there are several.

    Args:
        results: What `coattend.reporting.comparison.compare` returned.
    """
    for task in results["baselines"]:
        if _splits(results, task):
            yield task, f", {task}" if len(results["baselines"]) > 1 else ""


def tables(results: dict[str, Any]) -> list[Table]:
    """For each task and split a table of readers: accuracy, mean confidence, calibration error and AURC.

    Args:
        results: What `coattend.reporting.comparison.compare` returned.
    """
    heads = tuple(map(Cell, ("Reader", "Accuracy", "Mean probability", "ECE", "AURC")))
    return [
        Table(f"Calibration, {split}{of}", heads, tuple(_row(name, *pair) for name, pair in readers.items()))
        for task, of in tasks(results)
        for split, readers in _splits(results, task).items()
    ]


def reliability(results: dict[str, Any]) -> list[Table]:
    """For each task and split a table of readers by tenths of their questions, means over seeds.

    Args:
        results: What `coattend.reporting.comparison.compare` returned.
    """
    ends = {0: "least sure", BINS - 1: "surest"}
    heads = [Cell(f"{place + 1} of {BINS}", (ends[place],) if place in ends else ()) for place in range(BINS)]
    return [
        Table(
            f"Accuracy by tenths, {split}{of}; in small print the mean probability",
            (Cell("Reader"), *heads),
            tuple((Cell(name), *_bins(found)) for name, (_, found) in readers.items()),
        )
        for task, of in tasks(results)
        for split, readers in _splits(results, task).items()
    ]


def risk_against_coverage(results: dict[str, Any], task: str) -> "Figure":
    """The share of wrong answers among the surest, the more of them are answered; means over seeds.

    Args:
        results: What `coattend.reporting.comparison.compare` returned.
        task: Whose readers.

    Returns:
        A panel for each split and a line for each reader.
    """
    from plotly.graph_objects import Scatter
    from plotly.subplots import make_subplots

    panels = _splits(results, task)
    names = list(dict.fromkeys(name for readers in panels.values() for name in readers))
    height = 60 + 260 * len(panels)
    titles = [f"Risk, {split}" for split in panels]
    figure = make_subplots(rows=len(panels), vertical_spacing=90 / height, subplot_titles=titles)
    shown: set[str] = set()
    for row, readers in enumerate(panels.values(), start=1):
        for name, (_, found) in readers.items():
            curves = list(found["risk_coverage"].values())
            figure.add_trace(
                Scatter(
                    x=curves[0]["coverage"],
                    y=np.mean([curve["risk"] for curve in curves], axis=0).tolist(),
                    name=escape(name),
                    legendgroup=name,
                    showlegend=name not in shown,
                    mode="lines",
                    line=style_of(names.index(name))["line"],
                    hovertemplate=f"{escape(name)}<br>%{{x:.0f}} % answered: %{{y:.1f}} % wrong<extra></extra>",
                ),
                row=row,
                col=1,
            )
            shown.add(name)
    shares = {"range": [0, 104], "tickvals": [20, 40, 60, 80, 100], "ticksuffix": " %"}
    figure.update_xaxes(**shares, zeroline=False, gridcolor=GREY, griddash="dot")
    figure.update_xaxes(title={"text": "Coverage: questions answered, the surest first", "font": {"size": 13}})
    figure.update_yaxes(ticksuffix=" %", rangemode="tozero", zeroline=False, gridcolor=GREY, griddash="dot")
    return finished(figure, height)


def _splits(results: dict[str, Any], task: str) -> dict[str, dict[str, tuple[dict[str, Any], dict[str, Any]]]]:
    """Split to reader to its metrics there and its calibration."""
    found: dict[str, dict[str, tuple[dict[str, Any], dict[str, Any]]]] = {}
    for name, metrics in scored(results, task).items():
        for split, sure in metrics.get("calibration", {}).items():
            found.setdefault(split, {})[name] = (metrics["splits"][split][EVERYTHING], sure)
    return dict(sorted(found.items()))


def _row(name: str, metrics: dict[str, Any], sure: dict[str, Any]) -> tuple[Cell, ...]:
    return (
        Cell(name),
        Cell(f"{metrics['accuracy']['mean']:.1f}"),
        Cell(f"{sure['confidence']['mean']:.1f}"),
        _value(sure, "ece", f"{sure['ece_by_chance']['mean']:.1f} by chance"),
        _value(sure, "aurc", f"{sure['aurc_at_best']['mean']:.1f} at best"),
    )


def _value(sure: dict[str, Any], name: str, note: str) -> Cell:
    spread, seeds = sure[name]["spread"], len(sure[name]["seeds"])
    return Cell(f"{sure[name]['mean']:.1f}", (note, *(() if spread is None else (f"± {spread:.1f}, {seeds} seeds",))))


def _bins(sure: dict[str, Any]) -> Iterator[Cell]:
    """A cell for each tenth; with fewer questions than tenths the last ones are empty."""
    by_seed = list(sure["reliability"].values())
    for place in range(BINS):
        bins = [bins[place] for bins in by_seed if place < len(bins)]
        if not bins:
            yield Cell(NONE)
            continue
        right, said = (float(np.mean([one[key] for one in bins])) for key in ("accuracy", "confidence"))
        yield Cell(f"{right:.1f}", (f"{said:.1f}",))
