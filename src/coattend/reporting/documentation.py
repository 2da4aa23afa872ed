"""Renews the parts of the documentation that the code knows, in place: `python -m coattend.reporting.documentation`.

Such a part stands between two comments of a page, ``<!-- generated: options heads/span -->`` and ``<!-- end -->``. All
around it is written by hand.
"""

import argparse
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from coattend.errors import CoattendError, did_you_mean
from coattend.reporting import benchmark_facts, measured, reader_facts

COMMAND = "python -m coattend.reporting.documentation"
BLOCK = re.compile(r"<!-- generated: (?P<kind>\w+) (?P<names>[^>]*?) -->\n.*?<!-- end -->", re.DOTALL)


def pages(project: Path) -> Iterator[Path]:
    """The pages of the documentation that have generated parts.

    Args:
        project: The project's folder.
    """
    for page in sorted(project.joinpath("docs").rglob("*.md")):
        if BLOCK.search(page.read_text(encoding="utf-8")):
            yield page


def renewed(page: str, project: Path) -> str:
    """A page with its generated parts as they are today.

    Args:
        page: Its text.
        project: The project's folder.

    Raises:
        CoattendError: If a part asks for what cannot be generated.
    """
    makers = _makers(project)
    return BLOCK.sub(lambda found: _block(found, makers), page)


def _makers(project: Path) -> Mapping[str, Callable[..., str]]:
    results = project.joinpath("docs", "results.md").read_text(encoding="utf-8")
    return {
        "readers": reader_facts.of_readers,
        "options": reader_facts.of_options,
        "measured": partial(measured.of_entries, results),
        "benchmark": partial(benchmark_facts.of_benchmark, project / "conf" / "base" / "parameters" / "benchmarks"),
    }


def _block(found: re.Match[str], makers: Mapping[str, Callable[..., str]]) -> str:
    kind, names = found["kind"], found["names"].split()
    if kind not in makers:
        raise CoattendError(f"nothing generates {kind!r}", where="documentation", cure=did_you_mean(kind, list(makers)))
    return f"<!-- generated: {kind} {' '.join(names)} -->\n\n{makers[kind](*names)}\n\n<!-- end -->"


def main(arguments: Sequence[str] | None = None) -> None:
    """Renew all pages of the project in the working folder.

    Args:
        arguments: Of the command line; there are none but ``--help``.
    """
    argparse.ArgumentParser(
        prog=COMMAND, description="Renew the generated parts of docs/ in the working folder."
    ).parse_args(arguments)
    for page in pages(Path.cwd()):
        text = page.read_text(encoding="utf-8")
        new = renewed(text, Path.cwd())
        if new != text:
            page.write_text(new, encoding="utf-8")
            print(f"renewed {page.relative_to(Path.cwd())}")


if __name__ == "__main__":
    main()
