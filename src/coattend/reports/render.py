"""Render sections of a report as one self-contained HTML page, or as Markdown."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from coattend.reports.navigation import Links
from coattend.reports.tables import Table, markdown_text, to_markdown

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

PACKAGE = "coattend.reports"


@dataclass(frozen=True)
class Section:
    """A heading and its contents."""

    title: str
    text: tuple[str, ...] = ()  # Paragraphs.
    tables: tuple[Table, ...] = ()
    folded: tuple[Table, ...] = ()  # Folded away on an HTML page; empty ones are left out.
    figures: tuple[tuple[str, "Figure"], ...] = ()  # With captions, on HTML pages only.
    more: tuple[tuple[str, str], ...] = ()  # Paragraphs that are folded on an HTML page, behind their summaries.
    links: tuple[tuple[str, str], ...] = ()  # Descriptions of other pages with their relative addresses.


def html_page(
    title: str,
    sections: Sequence[Section],
    *,
    contents: bool = False,
    links: Links = (),
    template: str = "page.html.j2",
    **context: Any,
) -> str:
    """Render sections as an HTML page that loads nothing over the network and is forbidden to.

    It may begin with links to other pages and a list of contents. Another template extends ``page.html.j2`` and gets
    the context.
    """
    return render_template(template, title=title, sections=sections, contents=contents, links=links, **context)


def markdown_page(title: str, sections: Iterable[Section]) -> str:
    """Render sections as Markdown, figures by their captions alone."""
    blocks = [f"# {markdown_text(title)}"]
    for section in sections:
        blocks += _markdown_section(section)
    return "\n\n".join(blocks) + "\n"


def _markdown_section(section: Section) -> Iterator[str]:
    yield f"## {section.title}"
    yield from map(markdown_text, section.text)
    yield from (markdown_text(paragraph) for _, paragraph in section.more)
    # Links and captions may hold texts of users, so they are escaped, too.
    for description, address in section.links:
        yield f"[{markdown_text(description)}]({address})"
    yield from (to_markdown(table) for table in (*section.tables, *section.folded) if table.rows)
    for caption, _ in section.figures:
        yield f"Drawn on the HTML page: {markdown_text(caption)}"


def render_template(name: str, package: str = PACKAGE, **context: Any) -> str:
    """Render a template; all variables are escaped unless they are `Markup`.

    A package may have templates of its own; what it lacks, static files too, is taken from the reports.

    Raises:
        jinja2.UndefinedError: If the template uses a variable that is not in the context.
    """
    return _environment(package).get_template(name).render(context)


def script_json(content: str) -> Markup:
    """Mark JSON as safe inside an HTML script, where ``<`` in a string could close the script."""
    return Markup(content.replace("<", "\\u003c"))


@cache
def _environment(package: str) -> Environment:
    packages = list(dict.fromkeys((package, PACKAGE)))
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(name) for name in packages]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )

    def static(name: str) -> Markup:
        candidates = (files(package) / "static" / name for package in packages)
        return Markup(next(file for file in candidates if file.is_file()).read_text(encoding="utf-8"))

    # Templates inline static files and plotly.js, so that a page is one file.
    environment.globals |= {"static": static, "plotly_js": _plotly_js}
    environment.filters["figure_json"] = lambda figure: script_json(figure.to_json())
    return environment


def _plotly_js() -> Markup:
    from plotly.offline import get_plotlyjs

    return Markup(get_plotlyjs())
