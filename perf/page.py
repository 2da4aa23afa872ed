"""The measured part of ``docs/performance.md``: every goal beside its figures, and the machines."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jinja2 import ChainableUndefined, Environment

TEMPLATE = Path(__file__).with_name("goals.md.jinja")
BEGIN, END = "<!-- from perf/results.json -->\n", "<!-- end -->"
MISSING = "not measured"


def renew(page: str, results: Mapping[str, Any]) -> str:
    """Return the page with its measured part renewed.

    Args:
        page: The page, in Markdown.
        results: Contents of ``perf/results.json``: machine, date and figures of each measurement.
    """
    head, _, rest = page.partition(BEGIN)
    return f"{head}{BEGIN}{measured(results)}\n{END}{rest.partition(END)[2]}"


def measured(results: Mapping[str, Any]) -> str:
    """Fill the template; cells of figures that there are not say so."""
    # A figure that is missing, or a part of one, is shown as nothing.
    environment = Environment(undefined=ChainableUndefined, autoescape=False)  # noqa: S701 - Markdown, not HTML
    environment.filters |= {"times": times, "percent": percent, "fill": fill}
    figures = {name: result["figures"] for name, result in results.items()}
    lines = environment.from_string(TEMPLATE.read_text()).render(figures, results=results).splitlines()
    return "\n".join(map(fill_last_cell, lines)).rstrip()


def times(ratio: Any) -> str:
    """Show a ratio with its least and its greatest round."""
    return f"{ratio['ratio']:.1f} x [{ratio['least']:.1f}, {ratio['greatest']:.1f}]" if ratio else ""


def percent(ratio: Any) -> str:
    """Show a share in percent with its least and its greatest round."""
    return "{:.0f} % [{:.0f}, {:.0f}]".format(*(100 * value for value in ratio.values())) if ratio else ""


def fill(pattern: str, *values: Any) -> str:
    """Fill a pattern of printf; return nothing if a value is missing."""
    return "" if any(isinstance(value, ChainableUndefined) for value in values) else pattern % values


def fill_last_cell(line: str) -> str:
    """Write that a row's last cell was not measured, where it is empty."""
    cells = line.split(" | ")
    if line.startswith("| ") and not cells[-1].strip(" |,"):
        return " | ".join((*cells[:-1], f"{MISSING} |"))
    return line
