"""Renew the generated documentation of the project in the working folder: ``python -m docs._tools``."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from docs._tools import readers_page, recorded_pages
from docs._tools.generated_parts import COMMAND, pages, renewed


def main(arguments: Sequence[str] | None = None) -> None:
    """Renew all pages, and name those that changed.

    Args:
        arguments: Of the command line; there are none but ``--help``.
    """
    description = "Renew docs/readers.md, the pages of recorded studies, and the generated parts of docs/."
    argparse.ArgumentParser(prog=COMMAND, description=description).parse_args(arguments)
    project = Path.cwd()
    texts = {page: renewed(page.read_text(encoding="utf-8"), project) for page in pages(project)}
    texts[project / readers_page.FILE] = readers_page.render()
    texts |= dict(recorded_pages.pages(project / "docs" / "results"))
    for page, text in texts.items():
        if not page.is_file() or text != page.read_text(encoding="utf-8"):
            page.write_text(text, encoding="utf-8")
            print(f"renewed {page.relative_to(project)}")


if __name__ == "__main__":
    main()
