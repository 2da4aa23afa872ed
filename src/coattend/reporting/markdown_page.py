"""The page in Markdown: the words and the tables."""

from collections.abc import Iterable
from html import escape
from typing import Any

from coattend.reporting.page import Section, sections
from coattend.reporting.tables import Cell, Table


def render(results: dict[str, Any]) -> str:
    """Write a comparison as Markdown.

    Args:
        results: What `coattend.reporting.comparison.compare` returned.

    Returns:
        A page that any Markdown viewer shows; what was given by users stands in it as text.
    """
    return write(f"{results['title']}: readers compared", sections(results))


def write(title: str, page: Iterable[Section]) -> str:
    """Write sections under a title."""
    parts = [f"# {_text(title)}"]
    for section in page:
        parts += _section(section)
    return "\n\n".join(parts) + "\n"


def _section(section: Section) -> list[str]:
    tables = [part for table in (*section.tables, *section.folded) if table.rows for part in _table(table)]
    links = [f"[{_text(held)}]({page})" for held, page in section.links]
    figures = [f"Drawn on the HTML page: {_text(caption)}" for caption, _ in section.figures]
    return [f"## {section.title}", *map(_text, section.text), *links, *tables, *figures]


def _table(table: Table) -> tuple[str, ...]:
    lines = [_row(table.columns), "|" + " --- |" * len(table.columns), *map(_row, table.rows)]
    return (f"**{_text(table.caption)}**",) * bool(table.caption) + ("\n".join(lines),)


def _row(cells: tuple[Cell, ...]) -> str:
    return "| " + " | ".join(map(_cell, cells)) + " |"


def _cell(cell: Cell) -> str:
    brackets = [note for note in cell.notes if note.startswith("[")]
    rest = [note for note in cell.notes if not note.startswith("[")]
    return _text(" ".join([cell.text, *brackets] + ([f"({'; '.join(rest)})"] if rest else [])))


def _text(text: str) -> str:
    plain = escape(" ".join(text.split()), quote=False)
    for mark in ("\\", "|", "*", "`", "]("):
        plain = plain.replace(mark, f"\\{mark}" if mark != "](" else "]\\(")
    return plain
