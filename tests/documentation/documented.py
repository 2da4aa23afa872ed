"""The pages of the documentation, their fenced blocks and the commands in them."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [*(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")), *sorted(DOCS.rglob("*.md"))]

FENCED = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
IN_LINE = re.compile(r"`((?:kedro|make|python -m) [a-z][^`]*)`")
SHELL = ("", "bash", "sh", "shell", "console")
BEGINS = ("kedro ", "make ", "python -m ", "mlflow ", "dask ")
PATH_COMMENT = re.compile(r"# ([\w./-]+)\n")


@dataclass(frozen=True)
class Block:
    """A fenced block.

    Attributes:
        page: Its page.
        language: The word behind its fence.
        text: Its lines.
    """

    page: Path
    language: str
    text: str

    @property
    def path(self) -> str | None:
        """The file that it is, where its first line says so in a comment."""
        match = PATH_COMMENT.match(self.text)
        return match and match[1]


def name_of(page: Path) -> str:
    """A page's name, from the project's folder on."""
    return page.relative_to(ROOT).as_posix()


def blocks(language: str, *pages: Path) -> list[Block]:
    """The fenced blocks of pages; of all pages where none is named."""
    fenced = [Block(page, *match) for page in pages or PAGES for match in FENCED.findall(page.read_text())]
    return [block for block in fenced if block.language == language]


def commands(*pages: Path, in_lines: bool = True) -> list[tuple[str, str]]:
    """Page and command for every command of Kedro, make, Python, MLflow and Dask that stands in pages.

    Args:
        pages: Where to look; everywhere where none is named.
        in_lines: Include those inside of sentences.
    """
    listed = []
    for page in pages or PAGES:
        shells = [block.text for language in SHELL for block in blocks(language, page)]
        lines = [line.split(" #")[0].strip() for text in shells for line in text.replace("\\\n", " ").splitlines()]
        if in_lines:
            lines += [" ".join(code.split()) for code in IN_LINE.findall(FENCED.sub("", page.read_text()))]
        listed += [(name_of(page), line) for line in lines if line.startswith(BEGINS)]
    return list(dict.fromkeys(listed))
