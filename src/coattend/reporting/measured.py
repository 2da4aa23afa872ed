"""What was measured of a reader, gathered from the page of results."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from coattend.reporting.markdown_table import table

SCORES = re.compile(r"\b(accuracy|F1|exact match|score|nouns|names)\b")
"""Columns that hold a score. What follows one, such as seeds, stands on the page of results only."""


NOTHING = ("", "not run")
"""Cells without a score."""


@dataclass(frozen=True)
class Measured:
    """A row of a table of results.

    Attributes:
        section: Heading above its table.
        first: Its first cell.
        scores: Column to score.
    """

    section: str
    first: str
    scores: dict[str, str]


def of_entries(results: str, *names: str) -> str:
    """A table of the scores of readers, or a sentence where none was measured.

    Args:
        results: The page of results, in Markdown.
        names: Names of readers and of other entries.
    """
    found = [(name, row) for name in names for row in rows(results) if _is(row, name)]
    if not found:
        return "Not run."
    lines = (
        (f"`{name}`", f"[{row.section}](../results.md#{anchor(row.section)})", _told(row.scores)) for name, row in found
    )
    return table(("entry", "measured in", "scores"), lines)


def rows(results: str) -> Iterator[Measured]:
    """Every row of every table of the page that has a score."""
    section, heads = "", []
    for line in results.splitlines():
        if line.startswith("#"):
            section = line.lstrip("# ")
        if not line.startswith("|"):
            heads = []
            continue
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not heads:
            heads = cells
        scored = zip(heads[1:], cells[1:], strict=False)
        scores = {head: cell for head, cell in scored if SCORES.search(head) and cell not in NOTHING}
        if cells is not heads and scores:
            yield Measured(section, cells[0], scores)


def anchor(heading: str) -> str:
    """The anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _is(row: Measured, name: str) -> bool:
    return row.first == f"`{name}`" or row.first.startswith(f"`{name}`,")


def _told(scores: dict[str, str]) -> str:
    """A column that is called score says in its cells which."""
    return "; ".join(score if head == "score" else f"{head} {score}" for head, score in scores.items())
