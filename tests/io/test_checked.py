"""JSON and text files: what goes in comes out, or nothing is there."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kedro.io import DatasetError

from coattend.io.atomic import checksum_path
from coattend.io.checked import JSONDataset, TableDataset, TextDataset
from coattend.io.local_dataset import DataError
from coattend.io.sharded import ShardedTableDataset

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
).filter(lambda value: value is not None)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "deep" / "file"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(VALUES)
def test_what_json_holds_comes_back(path, value):
    dataset = JSONDataset(filepath=str(path))
    dataset.save(value)
    assert dataset.load() == value


@pytest.mark.parametrize("value", [{"loss": float("nan")}, [float("inf")], {"model": object()}])
def test_what_json_cannot_hold_is_refused_and_the_old_file_stays(path, value):
    dataset = JSONDataset(filepath=str(path))
    dataset.save({"old": 1})
    with pytest.raises(DataError, match="JSON cannot hold"):
        dataset.save(value)
    assert dataset.load() == {"old": 1}
    assert set(path.parent.iterdir()) == {path, checksum_path(path)}


@pytest.mark.parametrize("content", [b"", b'{"a": ', b"\xff\xfe", b"[1] and more"])
def test_broken_json_is_told(path, content):
    path.parent.mkdir()
    path.write_bytes(content)
    for optional in (False, True):
        with pytest.raises(DataError, match="is not a whole JSON file") as raised:
            JSONDataset(filepath=str(path), optional=optional).load()
        assert str(path) in str(raised.value)


def test_a_missing_file_is_told_unless_it_is_optional(path):
    with pytest.raises(DataError, match="does not exist"):
        JSONDataset(filepath=str(path)).load()
    optional = JSONDataset(filepath=str(path), optional=True)
    assert optional.load() is None
    assert not optional.exists()
    optional.save({})
    assert optional.exists()


def test_the_preview_is_the_content(path):
    dataset = JSONDataset(filepath=str(path))
    dataset.save({"a": ["é"]})
    assert json.loads(dataset.preview()) == {"a": ["é"]}


def test_text_comes_back(path):
    dataset = TextDataset(filepath=str(path))
    with pytest.raises(DataError, match="does not exist"):
        dataset.load()
    dataset.save("# Ünïcode\n\x0b\n")
    assert dataset.load() == "# Ünïcode\n\x0b\n"
    assert dataset.exists()


def test_text_that_utf8_cannot_hold_is_marked(path):
    dataset = TextDataset(filepath=str(path))
    dataset.save("a\ud800b")
    assert dataset.load() == "a?b"


def test_a_text_that_fails_leaves_the_old_one(path):
    dataset = TextDataset(filepath=str(path))
    dataset.save("old")
    with pytest.raises(DatasetError):
        dataset.save(None)
    with pytest.raises(DatasetError):
        dataset.save(7)
    assert dataset.load() == "old"
    assert list(path.parent.iterdir()) == [path]


def test_text_of_another_encoding_is_told(path):
    path.parent.mkdir()
    path.write_bytes("é".encode("latin-1"))
    with pytest.raises(DataError, match="is not a text in UTF-8"):
        TextDataset(filepath=str(path)).load()


@pytest.mark.parametrize(
    ("file", "dataset", "options"),
    [
        ("02_intermediate/dream/questions.parquet", TableDataset, "--pipelines ingestion --namespaces dream"),
        ("03_primary/dream/texts", ShardedTableDataset, "--pipelines ingestion --namespaces dream"),
        ("05_model_input/dream/nltk/minilm/tokens", ShardedTableDataset, "--pipelines tokenization --namespaces dream"),
        ("07_model_output/dream/duma/metrics.json", JSONDataset, "--pipelines evaluation --namespaces dream.duma"),
        # Of files of studies a path does not tell the pipeline.
        ("06_models/studies/duma_table7/dream/duma.json", JSONDataset, None),
    ],
)
def test_what_is_missing_or_damaged_names_the_command_that_writes_it(tmp_path, file, dataset, options):
    path = tmp_path / file
    table = {"table": "questions"} if dataset is TableDataset else {}
    stored = dataset(filepath=str(path), **table)
    command = f": kedro run {options}" if options else ""
    with pytest.raises(DataError) as missing:
        stored.load()
    assert missing.value.message.endswith(f"Run the stage that writes it first{command}")
    if dataset is not ShardedTableDataset:
        path.parent.mkdir(parents=True)
        path.write_bytes(b"{")
        with pytest.raises(DataError) as damaged:
            stored.load()
        assert damaged.value.message.endswith(f"{stored.cure}{command}")
