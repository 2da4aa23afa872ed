"""How sure readers are beside how often they are right: tables, and the figure of risk against coverage."""

from collections.abc import Iterator, Mapping
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from coattend.evaluation.calibration import BINS
from coattend.evaluation.groups import EVERYTHING
from coattend.evaluation.scoring import METRICS
from coattend.reporting.figures import GREY, finished, style_of
from coattend.reporting.tables import NONE, Cell, Table, scored

Sure = Mapping[str, Any]
"""How sure a reader is on a split: what `coattend.evaluation.confidence.calibrate` has, and ``accuracy`` in percent:
of spans the share of exact matches."""

ABOUT = (
    "A reader that gives its answers a probability of 80 % should be right four times in five. The probability is the "
    "softmax over the options; where a word is looked for in the passage, a candidate's share of what all candidates "
    "have; of a span that of its first word times that of its last, and right is what matches exactly. Readers that "
    "choose from all words of the passage have no part in this, as they keep no scores.",
    "Calibration error (ECE): how far probability and accuracy are apart, on average over tenths of the questions, "
    "from the least sure to the surest; it is hardly ever zero, and the small print says what chance alone makes of "
    "it.",
    "Risk: the share of wrong answers where a reader may keep silent when it is least sure. Its mean over all shares "
    "of answered questions is AURC, lower being better; the small print has what the best order would reach with the "
    "same answers.",
)
"""What tables and figure show."""

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


def tasks(results: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The tasks of which a reader is sure or not, each with what names it where there are several.

    Args:
        results: What `coattend.reporting.comparison.compare` returned.
    """
    for task in results["baselines"]:
        if by_split(results, task):
            yield task, f", {task}" if len(results["baselines"]) > 1 else ""


def by_split(results: dict[str, Any], task: str) -> dict[str, dict[str, Sure]]:
    """How sure the readers of a task are: split to reader to what is known.

    Args:
        results: What `coattend.reporting.comparison.compare` returned.
        task: Whose readers.
    """
    found: dict[str, dict[str, Sure]] = {}
    for name, metrics in scored(results, task).items():
        for split, sure in metrics.get("calibration", {}).items():
            right = metrics["splits"][split][EVERYTHING][METRICS[task][0]]["mean"]
            found.setdefault(split, {})[name] = {"accuracy": right} | sure
    return dict(sorted(found.items()))


def tables(results: dict[str, Any]) -> list[Table]:
    """For each task and split a table of readers.

    Args:
        results: What `coattend.reporting.comparison.compare` returned.
    """
    return [
        table(f"Calibration, {split}{of}", "Reader", readers)
        for task, of in tasks(results)
        for split, readers in by_split(results, task).items()
    ]


def reliability(results: dict[str, Any]) -> list[Table]:
    """For each task and split a table of readers by tenths of their questions.

    Args:
        results: What `coattend.reporting.comparison.compare` returned.
    """
    return [
        by_tenths(f"{split}{of}", "Reader", readers)
        for task, of in tasks(results)
        for split, readers in by_split(results, task).items()
    ]


def table(caption: str, kind: str, readers: Mapping[str, Sure]) -> Table:
    """Readers with their accuracy, mean confidence, calibration error and AURC.

    Args:
        caption: What it is called.
        kind: What the readers are called: ``Reader`` or ``Variant``.
        readers: How sure each is.
    """
    heads = tuple(map(Cell, (kind, "Accuracy", "Mean probability", "ECE", "AURC")))
    return Table(caption, heads, tuple(_row(name, sure) for name, sure in readers.items()))


def by_tenths(where: str, kind: str, readers: Mapping[str, Sure]) -> Table:
    """Readers by tenths of their questions, means over seeds.

    Args:
        where: The questions.
        kind: What the readers are called: ``Reader`` or ``Variant``.
        readers: How sure each is.
    """
    ends = {0: "least sure", BINS - 1: "surest"}
    heads = [Cell(f"{place + 1} of {BINS}", (ends[place],) if place in ends else ()) for place in range(BINS)]
    caption = f"Accuracy by tenths, {where}; in small print the mean probability"
    return Table(caption, (Cell(kind), *heads), tuple((Cell(name), *_bins(sure)) for name, sure in readers.items()))


def risk_against_coverage(panels: Mapping[str, Mapping[str, Sure]]) -> "Figure":
    """The share of wrong answers among the surest, the more of them are answered; means over seeds.

    Args:
        panels: Split to reader to how sure it is.

    Returns:
        A panel for each split and a line for each reader.
    """
    from plotly.graph_objects import Scatter
    from plotly.subplots import make_subplots

    names = list(dict.fromkeys(name for readers in panels.values() for name in readers))
    height = 60 + 260 * len(panels)
    titles = [f"Risk, {split}" for split in panels]
    figure = make_subplots(rows=len(panels), vertical_spacing=90 / height, subplot_titles=titles)
    shown: set[str] = set()
    for row, readers in enumerate(panels.values(), start=1):
        for name, found in readers.items():
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


def _row(name: str, sure: Sure) -> tuple[Cell, ...]:
    return (
        Cell(name),
        Cell(f"{sure['accuracy']:.1f}"),
        Cell(f"{sure['confidence']['mean']:.1f}"),
        _value(sure, "ece", f"{sure['ece_by_chance']['mean']:.1f} by chance"),
        _value(sure, "aurc", f"{sure['aurc_at_best']['mean']:.1f} at best"),
    )


def _value(sure: Sure, name: str, note: str) -> Cell:
    spread, seeds = sure[name]["spread"], len(sure[name]["seeds"])
    return Cell(f"{sure[name]['mean']:.1f}", (note, *(() if spread is None else (f"± {spread:.1f}, {seeds} seeds",))))


def _bins(sure: Sure) -> Iterator[Cell]:
    """A cell for each tenth; with fewer questions than tenths the last ones are empty."""
    by_seed = list(sure["reliability"].values())
    for place in range(BINS):
        bins = [bins[place] for bins in by_seed if place < len(bins)]
        if not bins:
            yield Cell(NONE)
            continue
        right, said = (float(np.mean([one[key] for one in bins])) for key in ("accuracy", "confidence"))
        yield Cell(f"{right:.1f}", (f"{said:.1f}",))
