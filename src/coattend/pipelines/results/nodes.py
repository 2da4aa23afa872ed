"""Nodes of the results pipeline."""

from typing import Any


def collect(**findings: dict[str, Any] | None) -> tuple[str, str]:
    """Put all studies on one page.

    Args:
        findings: Study to what it found; None where it was not run.

    Returns:
        The page in HTML and in Markdown.
    """
    from coattend.reporting import html_page, markdown_page, results_page

    sections = results_page.sections(findings)
    return html_page.page("Results", sections, contents=True), markdown_page.write("Results", sections)
