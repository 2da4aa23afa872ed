"""Nodes of the results pipeline."""

from coattend import studies
from coattend.pipelines.annotations import StoredFindings
from coattend.reports.records import StudyFindings


def collect(studied_before: StoredFindings, **findings: StudyFindings | None) -> tuple[str, str]:
    """Put the findings of all studies on one page, in HTML and in Markdown.

    The findings are those of the studies in this pipeline; those of earlier runs are looked up on disk. The page names
    studies that were not run.
    """
    from coattend.reports.navigation import page_links
    from coattend.reports.render import html_page, markdown_page
    from coattend.reports.study.page import overview_sections

    names = sorted({*studies.study_names(), *findings})
    page = overview_sections({name: findings.get(name) or studied_before.findings(name) for name in names})
    return html_page("Results", page, contents=True, links=page_links("")), markdown_page("Results", page)
