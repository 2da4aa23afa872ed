"""The page of a benchmark's profile: counts, lengths, baselines and tags of its questions and passages."""

from collections.abc import Sequence
from typing import TypedDict

import pyarrow as pa

from coattend.evaluation.groups import EVERYTHING
from coattend.reports.figures import share_bars
from coattend.reports.navigation import page_links
from coattend.reports.render import Section, html_page
from coattend.reports.tables import Cell, Table, noted_cell

TITLES = {
    "overview": ("In short", "All splits together, beside what a paper prints where one does (DUMA, table 1)."),
    "counts": ("Counts", "In small print what the publishers count, where it is another number."),
    "answers": ("Answers", ""),
    "lengths": ("Lengths", "Words are the tagger's, punctuation included."),
    "baselines": ("Without learning", "What a reader has to beat. A tie counts as wrong, or is settled by lot."),
    "copies": ("Copies", "Word for word, whatever the case and the punctuation."),
    "tags": ("Part-of-speech tags", "Of all distinct texts. ERR is punctuation and what the tagger has no tag for."),
}
"""Section of a profile to its heading and its text, in the order of the page."""


class ProfileRow(TypedDict):
    """A number of a profile, beside the published one."""

    section: str
    split: str
    subset: str
    name: str
    value: float
    published: float | None


def render_html(title: str, profile: pa.Table) -> str:
    """Render a profile, a table of the schema `PROFILE`, as an HTML page of the sections that have numbers."""
    rows: list[ProfileRow] = profile.to_pylist()
    written = []
    for name, (heading, text) in TITLES.items():
        section_rows = [row for row in rows if row["section"] == name]
        if not section_rows:
            continue
        # A tag is followed by the unit of its share.
        shares = {row["name"].partition(",")[0]: row["value"] for row in section_rows}
        figures = (("How often each tag occurs", share_bars(shares)),) if name == "tags" else ()
        written.append(Section(heading, (text,) if text else (), (_table(section_rows),), figures=figures))
    return html_page(title, written, links=page_links("../"))


def _table(rows: Sequence[ProfileRow]) -> Table:
    """Lay out numbers by name and by split or subset; a number may be missing in some splits."""
    columns = dict.fromkeys((row["split"], row["subset"]) for row in rows)
    total = "in all" if len(columns) > 1 else ""
    return Table.of_columns(
        "",
        "",
        (
            (
                noted_cell(total if split == EVERYTHING else split, "" if subset == EVERYTHING else subset),
                {row["name"]: _cell(row) for row in rows if (row["split"], row["subset"]) == (split, subset)},
            )
            for split, subset in columns
        ),
        {row["name"]: row["name"] for row in rows},
    )


def _cell(row: ProfileRow) -> Cell:
    published = row["published"]
    # Publishers round to one digit.
    if published is None or round(published, 1) == round(row["value"], 1):
        return Cell(_format(row["value"]))
    return Cell(_format(row["value"]), (f"published {_format(published)}",))


def _format(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"
