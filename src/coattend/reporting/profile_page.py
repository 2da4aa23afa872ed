"""The page of a benchmark's profile, section by section."""

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from coattend.evaluation.groups import EVERYTHING
from coattend.reporting.figures import COLOURS, GREY, finished
from coattend.reporting.page import Section
from coattend.reporting.tables import NONE, Cell, Table

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

TITLES = {
    "overview": ("In short", "All splits together, beside what a paper prints where one does (DUMA, table 1)."),
    "counts": ("Counts", "In small print what the publishers count, where it is another number."),
    "answers": ("Answers", ""),
    "lengths": ("Lengths", "Words are the tagger's, punctuation included."),
    "baselines": ("Without learning", "What a reader has to beat. A tie counts as wrong, or is settled by lot."),
    "copies": ("Copies", "Word for word, whatever the case and the punctuation."),
    "tags": ("Part-of-speech tags", "Of all distinct texts. ERR is punctuation and what the tagger has no tag for."),
}
"""Section of a profile to its heading and what it counts, in the order of the page."""


def sections(profile: pa.Table) -> list[Section]:
    """The sections of a profile that have numbers.

    Args:
        profile: A profile table.
    """
    rows = profile.to_pylist()
    parts = []
    for name, (title, text) in TITLES.items():
        own = [row for row in rows if row["section"] == name]
        if own:
            figures = (("How often each tag occurs", _bars(own)),) if name == "tags" else ()
            parts.append(Section(title, (text,) if text else (), (_table(own),), (), figures))
    return parts


def _table(rows: list[dict[str, Any]]) -> Table:
    places = list(dict.fromkeys((row["split"], row["subset"]) for row in rows))
    names = list(dict.fromkeys(row["name"] for row in rows))
    found = {(row["name"], row["split"], row["subset"]): row for row in rows}
    whole = "in all" if len(places) > 1 else ""
    heads = [
        Cell(whole if split == EVERYTHING else split, () if subset == EVERYTHING else (subset,))
        for split, subset in places
    ]
    return Table(
        "",
        (Cell(""), *heads),
        tuple((Cell(name), *(_cell(found.get((name, *place))) for place in places)) for name in names),
    )


def _cell(row: dict[str, Any] | None) -> Cell:
    if row is None:
        return Cell(NONE)
    told = row["published"]
    different = told is not None and round(told, 1) != round(row["value"], 1)
    return Cell(_number(row["value"]), (f"published {_number(told)}",) if different else ())


def _number(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def _bars(rows: list[dict[str, Any]]) -> "Figure":
    from plotly.graph_objects import Bar, Figure

    names = [row["name"].partition(",")[0] for row in rows]
    figure = Figure(Bar(x=names, y=[row["value"] for row in rows], marker={"color": COLOURS[0]}, showlegend=False))
    return finished(figure, 300).update_yaxes(ticksuffix=" %", gridcolor=GREY, griddash="dot")
