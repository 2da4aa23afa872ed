"""The page of a benchmark's profile: counts, lengths, baselines and tags of its questions and passages."""

from collections.abc import Sequence
from typing import TypedDict

import pyarrow as pa

from coattend.evaluation.groups import EVERYTHING
from coattend.reports.figures import share_bars
from coattend.reports.render import Section, html_page
from coattend.reports.tables import NO_VALUE, Cell, Table

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
    """Render a profile table as an HTML page."""
    return html_page(title, sections(profile))


def sections(profile: pa.Table) -> list[Section]:
    """Write the sections of a profile that have numbers.

    Args:
        profile: A table of the schema `PROFILE`.
    """
    rows: list[ProfileRow] = profile.to_pylist()
    written = []
    for name, (title, text) in TITLES.items():
        section_rows = [row for row in rows if row["section"] == name]
        if not section_rows:
            continue
        # A tag is followed by the unit of its share.
        shares = {row["name"].partition(",")[0]: row["value"] for row in section_rows}
        figures = (("How often each tag occurs", share_bars(shares)),) if name == "tags" else ()
        written.append(Section(title, (text,) if text else (), (_table(section_rows),), figures=figures))
    return written


def _table(rows: Sequence[ProfileRow]) -> Table:
    """Lay out numbers by name and by split or subset."""
    columns = list(dict.fromkeys((row["split"], row["subset"]) for row in rows))
    # A number may be missing in some splits.
    names = list(dict.fromkeys(row["name"] for row in rows))
    by_place = {(row["name"], row["split"], row["subset"]): row for row in rows}
    total = "in all" if len(columns) > 1 else ""
    titles = [
        Cell(total if split == EVERYTHING else split, () if subset == EVERYTHING else (subset,))
        for split, subset in columns
    ]
    body = tuple(
        (Cell(name), *(_cell(by_place.get((name, split, subset))) for split, subset in columns)) for name in names
    )
    return Table("", (Cell(""), *titles), body)


def _cell(row: ProfileRow | None) -> Cell:
    if row is None:
        return Cell(NO_VALUE)
    published = row["published"]
    # Publishers round to one digit.
    if published is None or round(published, 1) == round(row["value"], 1):
        return Cell(_format(row["value"]))
    return Cell(_format(row["value"]), (f"published {_format(published)}",))


def _format(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"
