"""NLTK data of which a test knows everything."""

from pathlib import Path

import pytest
from tiny_nltk_data import write_nltk_data


@pytest.fixture
def nltk_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of NLTK data, first in NLTK's order."""
    folder = write_nltk_data(tmp_path / "nltk_data")
    monkeypatch.setenv("NLTK_DATA", str(folder))
    return folder
