"""Studies of a project of its own, and questions that they can be trained on beside the sample."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from coattend import studies


@pytest.fixture
def write_study(project, sample_tables) -> Iterator[Callable[[str], Path]]:
    """Writes the only file of studies, and tells where results lie; the tiny sample's tables are there."""
    shutil.copytree(sample_tables, project / "data" / "test")

    def write(text: str) -> Path:
        folder = project / "conf" / "base" / "studies"
        for file in folder.glob("*.yml"):
            file.unlink()
        (folder / "mine.yml").write_text(text)
        studies.forget_studies()
        return project / "data" / "test"

    yield write
    studies.forget_studies()


@pytest.fixture
def study(write_study) -> Callable[[str], Path]:
    """Writes the one file of studies, whose study is called ``turns``; gives the folder that it is reported in."""
    return lambda text: write_study(text) / "08_reporting" / "studies" / "mine_turns"


@pytest.fixture
def custom_questions(project, monkeypatch):
    """Questions of the benchmark custom: 24 to train on, 4 for dev."""
    monkeypatch.setenv("COATTEND_RAW", str(project / "raw"))
    raw = project / "raw" / "custom"
    raw.mkdir(parents=True)
    row = {"question": "Who slept?", "options": ["Ann", "Bob"]}
    for split, hours in (("train", range(24)), ("dev", range(30, 34))):
        rows = [row | {"passage": f"Ann met Bob. {n} hours later Bob slept.", "label": 1} for n in hours]
        (raw / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
