"""The page in HTML: one file that needs nothing else, with figures that can be pointed at."""

from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from coattend.reporting.page import Section, sections
from coattend.reporting.style import DRAW, PRINT, SORT, STYLE
from coattend.reporting.tables import Cell, Table

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

WHOLE = 24
"""Characters of the longest small print that is kept on one line: intervals, not sentences."""

_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data: blob:; font-src data:"
)


def render(results: dict[str, Any]) -> str:
    """Write a comparison as one self-contained HTML page.

    Args:
        results: What `coattend.reporting.comparison.compare` returned.

    Returns:
        A page that loads nothing over the network and is forbidden to; what was given by users stands in it as text.
    """
    return page(f"{results['title']}: readers compared", sections(results))


def page(title: str, parts: list[Section], ending: str = "", *, contents: bool = False) -> str:
    """Write sections as one self-contained HTML page.

    Args:
        title: The page's title.
        parts: What stands on it.
        ending: HTML that stands below them.
        contents: Whether it begins with a list of its sections.
    """
    from plotly.offline import get_plotlyjs

    drawn = any(section.figures for section in parts)
    scripts = (PRINT, SORT, get_plotlyjs(), DRAW) if drawn else (PRINT, SORT)
    body = [section_of(part, f"part-{place}") for place, part in enumerate(parts)]
    return document(title, [*_contents(parts, contents), *body, ending], style=STYLE, scripts=scripts)


def document(
    title: str, body: Sequence[str], *, style: str, scripts: Sequence[str] = (), connects: bool = False
) -> str:
    """One self-contained HTML page.

    Args:
        title: Its title and first heading.
        body: What stands under it, in HTML.
        style: Its CSS.
        scripts: What runs when all of it is there.
        connects: Whether it may ask the server that it comes from, and no other.
    """
    title, policy = escape(title), _POLICY + ("; connect-src 'self'" if connects else "")
    return "\n".join(
        [
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            f"<title>{title}</title>\n<style>{style}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>",
            *body,
            "</main>",
            *(f"<script>{script}</script>" for script in scripts),
            "</body>\n</html>\n",
        ]
    )


def embedded(content: str) -> str:
    """JSON as it may stand inside an HTML script."""
    # "<" inside a JSON string would let a name close the script.
    return content.replace("<", "\\u003c")


def _contents(parts: list[Section], wanted: bool) -> Iterator[str]:
    if wanted:
        items = (f'<li><a href="#part-{place}">{escape(part.title)}</a></li>' for place, part in enumerate(parts))
        listed = "\n".join(items)
        yield f'<nav aria-label="Contents"><details><summary>Contents</summary><ul>{listed}</ul></details></nav>'


def section_of(section: Section, anchor: str = "") -> str:
    """A section in HTML, with an anchor where it shall be linked to."""
    parts = [f"<p>{escape(paragraph)}</p>" for paragraph in section.text]
    parts += [f'<p><a href="{escape(page)}">{escape(held)}</a></p>' for held, page in section.links]
    parts += [_table(table, section.title) for table in section.tables]
    parts += [
        f"<details><summary>{escape(table.caption)}</summary>{_table(table, section.title)}</details>"
        for table in section.folded
        if table.rows
    ]
    parts += [_figure(caption, figure) for caption, figure in section.figures]
    opening = f'<section id="{anchor}">' if anchor else "<section>"
    return "\n".join([f"{opening}\n<h2>{escape(section.title)}</h2>", *parts, "</section>"])


def _table(table: Table, title: str) -> str:
    numeric = [
        table.aligned and all(_is_number(row[column].text) for row in table.rows)
        for column in range(len(table.columns))
    ]
    head = "".join(
        f'<th scope="col"{_class(number)}>{_cell(c)}</th>' for c, number in zip(table.columns, numeric, strict=True)
    )
    body = "\n".join(_row(row, numeric) for row in table.rows)
    caption = f"<caption>{escape(table.caption)}</caption>\n" if table.caption else ""
    opening = '<table class="quiet">' if table.quiet else "<table>"
    return (
        f'<div class="table" tabindex="0" role="region" aria-label="{escape(table.caption or title)}">{opening}\n'
        f"{caption}<thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table></div>"
    )


def _row(cells: tuple[Cell, ...], numeric: list[bool]) -> str:
    first, *rest = cells
    data = "".join(f"<td{_class(number)}>{_cell(c)}</td>" for c, number in zip(rest, numeric[1:], strict=True))
    return f'<tr><th scope="row">{_cell(first)}</th>{data}</tr>'


def _cell(cell: Cell) -> str:
    return escape(cell.text) + "".join(map(_note, cell.notes))


def _note(note: str) -> str:
    """Small print; an interval is not broken, a sentence is."""
    whole = ' class="whole"' if len(note) <= WHOLE else ""
    return f"<small{whole}>{escape(note)}</small>"


def _class(number: bool) -> str:
    return ' class="number"' if number else ""


def _is_number(text: str) -> bool:
    return text == "not run" or text[:1] in "+-–<0123456789"


def _figure(caption: str, figure: "Figure") -> str:
    content = embedded(figure.to_json())
    return (
        f'<figure><div class="chart" role="img" aria-label="{escape(caption)}"></div>'
        f'<script type="application/json">{content}</script><figcaption>{escape(caption)}</figcaption>'
        "<noscript>The figure needs JavaScript; the tables hold its numbers.</noscript></figure>"
    )
