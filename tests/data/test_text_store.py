import pytest
from hypothesis import given
from hypothesis import strategies as st

from coattend.data import text_store
from coattend.data.text_store import TEXT_KINDS, DistinctTexts
from coattend.schemas import TEXTS
from coattend.text.hashing import text_id

ADDED = st.lists(st.tuples(st.text(st.characters(codec="utf-8"), max_size=3), st.sampled_from(TEXT_KINDS)))


def rows(texts):
    return {name: texts.table(name).to_pylist() for name in texts.keys()}  # noqa: SIM118 (not a dictionary)


def filled(added, shards=3):
    texts = DistinctTexts(shards)
    for text, text_kind in added:
        texts.add(text, text_kind)
    return texts


@given(ADDED, st.integers(1, 5))
def test_each_text_once_in_its_shard_with_its_first_kind(added, shards):
    expected = {f"{shard:04d}-of-{shards:04d}": [] for shard in range(shards)}
    for text in {text for text, _ in added}:
        text_kind = min((text_kind for added_text, text_kind in added if added_text == text), key=TEXT_KINDS.index)
        name = f"{int(text_id(text)[:8], 16) % shards:04d}-of-{shards:04d}"
        expected[name].append({"text_id": text_id(text), "kind": text_kind, "text": text})
    expected = {name: sorted(shard, key=lambda row: row["text_id"]) for name, shard in expected.items()}
    assert rows(filled(added, shards)) == expected


@given(ADDED, st.randoms())
def test_keys_and_tables_do_not_depend_on_the_order(added, random):
    shuffled = random.sample(added, len(added))
    first, second = filled(added), filled(shuffled)
    assert first.keys() == second.keys()
    assert rows(first) == rows(second)


@pytest.mark.parametrize("limit", ["BUFFER_TEXTS", "BUFFER_CHARACTERS"])
def test_what_waits_on_disk_changes_nothing(monkeypatch, limit):
    added = [(f"text {number % 40}", TEXT_KINDS[number % 3]) for number in range(200)]
    in_memory = filled(added)
    monkeypatch.setattr(text_store, limit, 20)
    pieces = filled(added)
    assert (pieces.keys(), rows(pieces)) == (in_memory.keys(), rows(in_memory))


def test_a_key_says_what_is_in_its_shard():
    keys = filled([("one", "passage"), ("two", "option")]).keys()
    assert keys != filled([("one", "passage"), ("two", "filled")]).keys()
    longer = filled([("one", "passage"), ("two", "option"), ("three", "option")]).keys()
    changed = [name for name in keys if keys[name] != longer[name]]
    assert changed == [f"{int(text_id('three')[:8], 16) % 3:04d}-of-0003"]


def test_tables_have_the_schema():
    assert filled([]).table("0000-of-0003").schema == TEXTS
    assert filled([("one", "passage")], 1).table("0000-of-0001").schema == TEXTS
