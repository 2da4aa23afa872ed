"""Scores of readers, gathered from the tables of the pages of results."""

import re
from collections.abc import Iterator, Mapping
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


def read_results(folder: Path) -> dict[str, str]:
    """Read the pages of results; the index, whose table of scores is made from theirs, is none of them.

    Args:
        folder: The pages' folder.
    """
    pages = sorted(page for page in folder.glob("*.md") if page.name != "README.md")
    return {page.name: page.read_text(encoding="utf-8") for page in pages}


def score_table(results: Mapping[str, str], *names: str) -> str:
    """Write a table of the scores of readers, or a sentence if none was measured.

    Args:
        results: File name of each page of results to its text, in Markdown.
        names: Names of readers and of other entries.
    """
    rows = [row for page, text in results.items() for row in scored_rows(page, text)]
    scored = [(name, row) for name in names for row in rows if row.is_about(name)]
    if not scored:
        return "Not run."
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
