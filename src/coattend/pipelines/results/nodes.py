"""Nodes of the results pipeline."""

from coattend.reports.records import StudyFindings


def collect(**findings: StudyFindings | None) -> tuple[str, str]:
    """Put the findings of all studies on one page, in HTML and in Markdown; a study that was not run has None."""
    from coattend.reports.navigation import page_links
    from coattend.reports.render import html_page, markdown_page
    from coattend.reports.study.page import overview_sections

    page = overview_sections(findings)
    return html_page("Results", page, contents=True, links=page_links("")), markdown_page("Results", page)
