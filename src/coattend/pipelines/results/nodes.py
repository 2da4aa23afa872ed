"""Nodes of the results pipeline."""

from coattend.reports.records import StudyFindings


def collect(**findings: StudyFindings | None) -> tuple[str, str]:
    """Put all studies on one page.

    Args:
        findings: Study to its findings; None if it was not run.

    Returns:
        The page in HTML and in Markdown.
    """
    from coattend.reports.overview import sections
    from coattend.reports.render import html_page, markdown_page

    page = sections(findings)
    return html_page("Results", page, contents=True), markdown_page("Results", page)
