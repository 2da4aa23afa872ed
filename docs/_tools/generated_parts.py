"""Generated parts of pages that are otherwise written by hand.

Such a part stands between two comments, ``<!-- generated: options heads/span -->`` and ``<!-- end -->``.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path

from docs._tools import (
    benchmark_facts,
    column_table,
    parameter_reference,
    pipeline_list,
    reader_facts,
    recorded_pages,
    results_tables,
    study_list,
)

from coattend.errors import CoattendError, did_you_mean

COMMAND = "python -m docs._tools"
PART = re.compile(r"<!-- generated: (?P<generator>\w+) (?P<names>[^>]*?) -->\n.*?<!-- end -->", re.DOTALL)

Generators = Mapping[str, Callable[..., str]]
"""Name of a generator to the function that writes a part about some names."""


def pages(project: Path) -> Iterator[Path]:
    """Find the pages of the documentation, and README, that have generated parts.

    Args:
        project: The project's folder.
    """
    for page in (*project.glob("README.md"), *sorted(project.joinpath("docs").rglob("*.md"))):
        if PART.search(page.read_text(encoding="utf-8")):
            yield page


def renewed(text: str, project: Path) -> str:
    """Renew the generated parts of a page.

    Args:
        text: The page's text.
        project: The project's folder.

    Raises:
        CoattendError: If nothing generates a part.
    """
    generators = _generators(project)
    return PART.sub(lambda part: _write(part, generators), text)


@cache
def _generators(project: Path) -> Generators:
    results = project / "docs" / "results"
    scored = [*recorded_pages.scored_rows(results), *results_tables.read_results(results)]
    return {
        "readers": reader_facts.reader_tables,
        "options": reader_facts.option_table,
        "recorded": partial(recorded_pages.score_tables_of, results),
        "measured": partial(results_tables.score_table, scored),
        "benchmark": partial(benchmark_facts.fact_table, project / "conf" / "base"),
        "parameters": parameter_reference.parameter_table,
        "columns": column_table.column_table,
        "pipelines": pipeline_list.pipeline_table,
        "studies": partial(study_list.study_table, project / "conf"),
    }


def _write(part: re.Match[str], generators: Generators) -> str:
    generator, names = part["generator"], part["names"].split()
    if generator not in generators:
        cure = did_you_mean(generator, list(generators))
        raise CoattendError(f"nothing generates {generator!r}", where="documentation", cure=cure)
    return f"<!-- generated: {generator} {' '.join(names)} -->\n\n{generators[generator](*names)}\n\n<!-- end -->"
