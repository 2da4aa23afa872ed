"""A table in shards: only what changed is made again, and nothing half-made looks finished."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pyarrow as pa
import pytest
from kedro.io import DatasetError

from coattend.io.local_dataset import DataError
from coattend.io.schema_validator import SchemaValidator
from coattend.io.sharded import ShardedTableDataset, ShardPlan, shards
from coattend.schemas import TEXTS


class Maker:
    """Makes shards of one row and remembers which; stops before a chosen one."""

    def __init__(self, stop_before=None):
        self.built, self.stop_before = [], stop_before

    def __call__(self, names):
        for name in names:
            if name == self.stop_before:
                raise RuntimeError("cut off")
            self.built.append(name)
            row = {"text_id": name, "kind": "passage", "text": "x"}
            yield name, pa.Table.from_pylist([row], schema=TEXTS)


def save(dataset, maker, **keys):
    dataset.save(ShardPlan(origin=json.dumps(keys), keys=lambda: keys, make=maker))
    return maker.built


def rows(dataset):
    return dataset.load().to_table()["text_id"].to_pylist()


@pytest.fixture
def dataset(tmp_path):
    return ShardedTableDataset(filepath=str(tmp_path / "texts"))


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "texts"


def test_all_shards_are_made_once(dataset):
    assert save(dataset, Maker(), a="1", b="1") == ["a", "b"]
    assert rows(dataset) == ["a", "b"]
    assert save(dataset, Maker(), a="1", b="1") == []


def test_an_unchanged_origin_is_not_looked_at_again(dataset):
    save(dataset, Maker(), a="1")

    def never():
        raise AssertionError("the keys were computed again")

    dataset.save(ShardPlan(origin=json.dumps({"a": "1"}), keys=never, make=Maker()))
    assert rows(dataset) == ["a"]


def test_another_origin_of_the_same_shards_makes_none(dataset):
    save(dataset, Maker(), a="1")
    maker = Maker()
    dataset.save(ShardPlan(origin="another", keys=lambda: {"a": "1"}, make=maker))
    assert maker.built == []


def test_an_unchanged_plan_touches_no_file(dataset, folder):
    save(dataset, Maker(), a="1", b="1")
    before = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    save(dataset, Maker(), a="1", b="1")
    assert {path: path.stat().st_mtime_ns for path in folder.iterdir()} == before


def test_a_changed_key_makes_that_shard_again_alone(dataset):
    save(dataset, Maker(), a="1", b="1", c="1")
    assert save(dataset, Maker(), a="1", b="2", c="1") == ["b"]
    assert rows(dataset) == ["a", "b", "c"]


def test_shards_come_and_go_with_the_plan(dataset, folder):
    save(dataset, Maker(), a="1", b="1")
    assert save(dataset, Maker(), b="1", c="1") == ["c"]
    assert rows(dataset) == ["b", "c"]
    assert sorted(path.name for path in folder.glob("*.parquet")) == ["b.parquet", "c.parquet"]


def test_a_run_that_was_cut_off_goes_on_where_it_stopped(dataset, folder):
    with pytest.raises(DatasetError, match="cut off"):
        save(dataset, Maker(stop_before="c"), a="1", b="1", c="1")
    assert not dataset.exists()
    with pytest.raises(DataError, match="is not finished"):
        dataset.load()
    assert not list(folder.glob("*.part"))
    assert save(dataset, Maker(), a="1", b="1", c="1") == ["c"]
    assert rows(dataset) == ["a", "b", "c"]


def test_a_table_that_is_being_remade_is_not_finished(dataset):
    save(dataset, Maker(), a="1", b="1")
    with pytest.raises(DatasetError):
        save(dataset, Maker(stop_before="b"), a="2", b="2")
    assert not dataset.exists()
    assert save(dataset, Maker(), a="2", b="2") == ["b"]


def test_a_load_waits_for_a_run_that_is_remaking_the_table(dataset):
    save(dataset, Maker(), a="1", b="1")
    began, may_end = Event(), Event()

    def slow(names):
        began.set()
        may_end.wait(30)
        yield from Maker()(names)

    with ThreadPoolExecutor() as pool:
        saved = pool.submit(dataset.save, ShardPlan(origin="2", keys=lambda: {"a": "2", "c": "2"}, make=slow))
        assert began.wait(30)
        loaded = pool.submit(rows, dataset)
        with pytest.raises(TimeoutError):
            loaded.result(timeout=0.2)
        may_end.set()
        saved.result(30)
        assert loaded.result(30) == ["a", "c"]


@pytest.mark.parametrize("damage", ["truncated", "swapped", "gone"])
def test_a_damaged_shard_is_told_and_mended_alone(dataset, folder, damage):
    save(dataset, Maker(), a="1", b="1")
    victim = folder / "a.parquet"
    if damage == "truncated":
        victim.write_bytes(victim.read_bytes()[:-5])
    elif damage == "swapped":
        victim.write_bytes((folder / "b.parquet").read_bytes())
    else:
        victim.unlink()
    with pytest.raises(DataError, match="is not the file that was written") as raised:
        dataset.load()
    assert "a.parquet" in str(raised.value)
    assert save(dataset, Maker(), a="1", b="1") == ["a"]
    assert rows(dataset) == ["a", "b"]


@pytest.mark.parametrize("content", ["", '{"complete": true, "sha', "not json"])
def test_a_broken_manifest_makes_the_table_anew(dataset, folder, content):
    save(dataset, Maker(), a="1")
    (folder / "_manifest.json").write_text(content)
    assert not dataset.exists()
    assert save(dataset, Maker(), a="1") == ["a"]
    assert rows(dataset) == ["a"]


def test_the_manifest_says_what_is_in_the_shards(dataset, folder):
    save(dataset, Maker(), a="key of a")
    manifest = json.loads((folder / "_manifest.json").read_text())
    assert manifest["complete"] is True
    assert manifest["shards"]["a"]["key"] == "key of a"
    assert manifest["shards"]["a"]["rows"] == 1


def test_fragments_are_shards_by_name(dataset):
    save(dataset, Maker(), a="1", b="1")
    fragments = shards(dataset.load())
    assert {name: fragment.to_table()["text_id"].to_pylist() for name, fragment in fragments.items()} == {
        "a": ["a"],
        "b": ["b"],
    }
    assert all(Path(fragment.path).stem == name for name, fragment in fragments.items())


def test_a_shard_of_another_shape_is_refused_while_it_is_made(dataset):
    def wrong(names):
        for name in names:
            yield name, pa.table({"text_id": [name]})

    plan = SchemaValidator(table="texts").validate(ShardPlan(origin="1", keys=lambda: {"a": "1"}, make=wrong))
    with pytest.raises(DatasetError, match="column 'kind': missing"):
        dataset.save(plan)
    assert not dataset.exists()
