"""Scores of readers, gathered from the tables of the pages of results."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from docs._tools.markdown import table

SCORE_HEAD = re.compile(r"\b(accuracy|F1|exact match|score|nouns|names)\b")
"""Heads of columns with a score; others, such as seeds, are left to the pages of results."""

EMPTY = ("", "not run")
"""Cells without a score."""


@dataclass(frozen=True)
class ScoredRow:
    """A row of a table of results.

    Attributes:
        page: File name of its page.
        section: Heading above its table.
        first: Its first cell.
        scores: Column to score.
    """

    page: str
    section: str
    first: str
    scores: dict[str, str]

    def is_about(self, name: str) -> bool:
        """Return True for the row of a reader's entry."""
        return self.first == f"`{name}`" or self.first.startswith(f"`{name}`,")

    def format_scores(self) -> str:
        """Write the scores behind their heads; a column named score has the metric in its cells."""
        return "; ".join(score if head == "score" else f"{head} {score}" for head, score in self.scores.items())


def read_results(folder: Path) -> Iterator[ScoredRow]:
    """Read the rows of the pages of results; the index, whose table of scores is made from theirs, is none of them.

    Args:
        folder: The pages' folder.
    """
    for page in sorted(folder.glob("*.md")):
        if page.name != "README.md":
            yield from scored_rows(page.name, page.read_text(encoding="utf-8"))


def score_table(rows: Sequence[ScoredRow], *names: str) -> str:
    """Write a table of the scores of readers, or a sentence if none was measured.

    Args:
        rows: The rows of all tables of results.
        names: Names of readers and of other entries.
    """
    scored = [(name, row) for name in names for row in rows if row.is_about(name)]
    if not scored:
        return (
            "Not run as it stands. [All results](../results/README.md) has the studies that ran it otherwise, if any."
        )
    lines = (
        (f"`{name}`", f"[{row.section}](../results/{row.page}#{anchor(row.section)})", row.format_scores())
        for name, row in scored
    )
    return table(("entry", "measured in", "scores"), lines)


def scored_rows(page: str, text: str) -> Iterator[ScoredRow]:
    """Read every row of every table of a page that has a score."""
    section = ""
    heads: list[str] = []
    for line in text.splitlines():
        if line.startswith("#"):
            section = line.lstrip("# ")
        if not line.startswith("|"):
            heads = []
            continue
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        # The first line of a table names its columns.
        if not heads:
            heads = cells
            continue
        columns = zip(heads[1:], cells[1:], strict=False)
        scores = {head: cell for head, cell in columns if SCORE_HEAD.search(head) and cell not in EMPTY}
        # The line below the heads is made of dashes alone.
        if scores and not set("".join(cells)) <= {"-", ":"}:
            yield ScoredRow(page, section, cells[0], scores)


def anchor(heading: str) -> str:
    """Make the anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
