"""The pages of the documentation, and what stands in them."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]

FENCED = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
IN_LINE = re.compile(r"`((?:kedro|make|python -m) [a-z][^`]*)`")
SHELL = ("", "bash", "sh", "shell", "console")
BEGINS = ("kedro ", "make ", "python -m ", "mlflow ", "dask ")
PATH_COMMENT = re.compile(r"# ([\w./-]+)\n")


@dataclass(frozen=True)
class Block:
    """A fenced block.

    Attributes:
        page: Where it stands.
        language: What is written behind its fence.
        text: Its lines.
    """

    page: Path
    language: str
    text: str

    @property
    def path(self) -> str | None:
        """The file that it is, where its first line says so in a comment."""
        named = PATH_COMMENT.match(self.text)
        return named and named[1]


def name_of(page: Path) -> str:
    """A page's name, from the project's folder on."""
    return page.relative_to(ROOT).as_posix()


def blocks(language: str, *pages: Path) -> list[Block]:
    """The fenced blocks of pages; of all pages where none is named."""
    found = [Block(page, *one) for page in pages or PAGES for one in FENCED.findall(page.read_text())]
    return [one for one in found if one.language == language]


def commands(*pages: Path, in_lines: bool = True) -> list[tuple[str, str]]:
    """Page and command for every command of Kedro, make, Python, MLflow and Dask that stands in pages.

    Args:
        pages: Where to look; everywhere where none is named.
        in_lines: Whether those inside of sentences count, too.
    """
    found = []
    for page in pages or PAGES:
        shells = [one.text for language in SHELL for one in blocks(language, page)]
        lines = [line.split(" #")[0].strip() for text in shells for line in text.replace("\\\n", " ").splitlines()]
        if in_lines:
            lines += [" ".join(one.split()) for one in IN_LINE.findall(FENCED.sub("", page.read_text()))]
        found += [(name_of(page), line) for line in lines if line.startswith(BEGINS)]
    return list(dict.fromkeys(found))
