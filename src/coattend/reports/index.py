"""The list of all pages: results, studies, comparisons, attention pages and profiles, with their MLflow runs."""

import html
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from coattend.io.atomic import write_if_changed
from coattend.reports.navigation import run_addresses
from coattend.reports.render import render_template

FILE = "index.html"
REPORTING = "08_reporting"
"""Name of the folder of all pages."""
STUDIES = "studies"

GROUPS = {
    "benchmark": "Readers of a benchmark",
    "study": "Studies",
    "overview": "Overviews",
    "comparison": "Comparisons of two trials",
    "attention": "Attention",
    "profile": "What benchmarks are made of",
}
"""Kinds of pages, in the order of the list, with their headings."""

_TITLE = re.compile(r"<title>(.*?)</title>", re.DOTALL)
_HEAD_BYTES = 4096
"""Bytes of a page in which its title stands."""


class ListedPage(NamedTuple):
    """A page in the list: its title, its relative address, when it was drawn, and the address of its MLflow run."""

    title: str
    address: str
    drawn: str
    run: str | None


def write_index(folder: Path) -> Path:
    """Write the list of all pages below a folder into its ``index.html``, and return that file."""
    files = [file for file in sorted(folder.rglob("*.html")) if file != folder / FILE]
    kinds = {file: kind for file in files if (kind := page_kind(file.relative_to(folder))) is not None}
    experiments = {file: name for file, kind in kinds.items() if (name := _experiment(file, kind))}
    runs = run_addresses(experiments.values())
    pages: dict[str, list[ListedPage]] = {}
    for file, kind in kinds.items():
        pages.setdefault(kind, []).append(_listed(file, folder, runs.get(experiments.get(file, ""))))
    groups = [(GROUPS[kind], pages[kind]) for kind in GROUPS if kind in pages]
    write_if_changed(folder / FILE, render_template("index.html.j2", title="All pages", groups=groups))
    return folder / FILE


def page_kind(path: Path) -> str | None:
    """Return the kind of a page by its path below the folder of all pages; None for other files."""
    folder, name = path.parts[0], path.name
    if len(path.parts) == 1:
        return "overview"
    if folder == "compare":
        return "comparison"
    if folder == "attention" or name.endswith("_attention.html"):
        return "attention"
    if name == "profile.html":
        return "profile"
    if name == FILE:
        return "study" if folder == STUDIES else "benchmark"
    return None


def _experiment(file: Path, kind: str) -> str | None:
    """The experiment that has a page, which lies in the folder of its benchmark or study."""
    # A study's experiment is called by its pipeline.
    return {"benchmark": file.parent.name, "study": f"study_{file.parent.name}"}.get(kind)


def _listed(file: Path, folder: Path, run: str | None) -> ListedPage:
    path = file.relative_to(folder)
    with file.open("rb") as page:
        title = _TITLE.search(page.read(_HEAD_BYTES).decode(errors="replace"))
    return ListedPage(
        title=html.unescape(title[1]) if title else str(path),
        address=path.as_posix(),
        drawn=f"{datetime.fromtimestamp(file.stat().st_mtime):%Y-%m-%d %H:%M}",
        run=run,
    )


def page_folders(paths: list[str]) -> Iterator[Path]:
    """Yield the folders of all pages that some pages lie in, each once."""
    folders: dict[Path, None] = {}
    for path in map(Path, paths):
        if REPORTING in path.parts:
            depth = len(path.parts) - path.parts[::-1].index(REPORTING)
            folders[Path(*path.parts[:depth])] = None
    yield from (folder for folder in folders if folder.is_dir())
