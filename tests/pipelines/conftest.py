"""A study in a project of its own."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from coattend import studies


@pytest.fixture
def study(project) -> Iterator[Callable[[str], Path]]:
    """Writes the one file of studies, whose study is called ``turns``; gives the folder that it is reported in."""

    def write(text: str) -> Path:
        folder = project / "conf" / "base" / "studies"
        for file in folder.glob("*.yml"):
            file.unlink()
        (folder / "mine.yml").write_text(text)
        studies.forget()
        return project / "data" / "test" / "08_reporting" / "studies" / "mine_turns"

    yield write
    studies.forget()
