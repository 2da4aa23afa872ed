import pytest
from entries import benchmark, source, write

from coattend.config.project import project_folder, raw_folder
from coattend.data.raw_files import paths_by_name, raw_files
from coattend.errors import CoattendError


def files_and_splits(entry, folder):
    return [(str(file.path.relative_to(folder)), file.split) for file in raw_files(entry, folder)]


def test_the_raw_folder(monkeypatch):
    folder = project_folder() / "data" / "01_raw"
    monkeypatch.delenv("COATTEND_RAW", raising=False)
    assert raw_folder() == folder
    monkeypatch.setenv("COATTEND_RAW", "/elsewhere")
    assert str(raw_folder()) == "/elsewhere"
    assert raw_folder(generated=True) == folder


def test_files_come_by_source_split_and_name(tmp_path):
    for name in ("train-b.json", "dev.json", "train-a.json", "notes.txt"):
        write(tmp_path, name)
    (tmp_path / "lamps" / "train.json").mkdir()
    expected = [("lamps/train-a.json", "train"), ("lamps/train-b.json", "train"), ("lamps/dev.json", "dev")]
    assert files_and_splits(benchmark(), tmp_path) == expected
    splits = source(files={"train": ["train-a*", "train-*.json"], "dev": ["dev.json"]})
    assert files_and_splits(benchmark(splits), tmp_path) == expected


def test_a_missing_split_says_what_to_put_where(tmp_path):
    write(tmp_path, "train.json")
    with pytest.raises(CoattendError) as caught:
        raw_files(benchmark(), tmp_path)
    for part in ("Lamps", "dev files", "dev*.json", str(tmp_path / "lamps"), "https://lamps.example", "COATTEND_RAW"):
        assert part in str(caught.value)


def test_a_missing_folder_says_the_same(tmp_path):
    with pytest.raises(CoattendError, match="no train files"):
        raw_files(benchmark(), tmp_path / "nowhere")


def test_a_test_split_and_an_optional_source_may_be_missing(tmp_path):
    write(tmp_path, "train.json")
    files = {"train": ["train.json"], "test": ["test.json"]}
    entry = benchmark(source(files=files), source(folder="elsewhere", optional=True))
    assert files_and_splits(entry, tmp_path) == [("lamps/train.json", "train")]


def test_all_sources_may_be_optional_but_not_all_missing(tmp_path):
    trial = source(files={"trial": ["trial.json"]}, optional=True)
    entry = benchmark(source(optional=True), trial)
    with pytest.raises(CoattendError, match="no train files"):
        raw_files(entry, tmp_path)
    write(tmp_path, "trial.json")
    assert files_and_splits(entry, tmp_path) == [("lamps/trial.json", "trial")]


@pytest.mark.parametrize("pattern", ["", "/absolute/*.json"])
def test_a_pattern_that_is_none(tmp_path, pattern):
    with pytest.raises(CoattendError, match="is not a file pattern"):
        raw_files(benchmark(source(files={"train": [pattern]})), tmp_path)


def test_a_name_that_several_files_have_tells_no_path(tmp_path, monkeypatch):
    for name in ("high/train.json", "middle/train.json", "dev.json"):
        write(tmp_path, name)
    monkeypatch.chdir(tmp_path)
    files = raw_files(benchmark(source(files={"train": ["*/train.json"], "dev": ["dev.json"]})), tmp_path)
    assert len(files) == 3
    assert paths_by_name(files) == {"dev.json": "lamps/dev.json"}
