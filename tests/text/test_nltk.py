import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from coattend.text import nltk as nltk_data

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_it_looks_where_nltk_looks(monkeypatch):
    monkeypatch.delenv("NLTK_DATA", raising=False)
    ask = [sys.executable, "-c", "import json, nltk.data; print(json.dumps(nltk.data.path))"]
    nltk_folders = json.loads(subprocess.run(ask, capture_output=True, text=True, check=True).stdout)
    assert [str(folder) for folder in nltk_data.search_folders()] == nltk_folders


def test_the_environment_comes_first_then_the_raw_folder_last(nltk_folder, tmp_path, monkeypatch):
    raw = tmp_path / "raw"
    shutil.copytree(nltk_folder, raw / "nltk_data")
    monkeypatch.setenv("COATTEND_RAW", str(raw))
    assert nltk_data.find_package(nltk_data.PUNKT) == nltk_folder
    shutil.rmtree(nltk_folder)
    assert nltk_data.find_package(nltk_data.PUNKT) not in (None, nltk_folder)


def test_packages_may_lie_in_different_folders_and_be_zipped(nltk_folder):
    package = nltk_folder / nltk_data.TAGGER
    shutil.make_archive(str(package), "zip", package.parent, package.name)
    unpacked = {file.name: file.read_bytes() for file in package.iterdir()}
    shutil.rmtree(package)
    folder = nltk_data.find_package(nltk_data.TAGGER)
    assert folder == Path(nltk_folder)
    assert {
        file.name: file.read_bytes() for file in nltk_data.open_package(folder, nltk_data.TAGGER).iterdir()
    } == unpacked


def test_the_raw_folder_is_that_of_the_benchmarks_wherever_a_command_is_given(monkeypatch):
    monkeypatch.delenv("COATTEND_RAW", raising=False)
    monkeypatch.chdir(ROOT / "docs")
    assert nltk_data.raw_data_folder() == ROOT / "data/01_raw/nltk_data"
    monkeypatch.setenv("COATTEND_RAW", "~/corpora")
    assert nltk_data.raw_data_folder() == Path.home() / "corpora/nltk_data"
