import pytest
from hypothesis import given
from hypothesis import strategies as st

from coattend.benchmarks import distinct
from coattend.benchmarks.distinct import KINDS, DistinctTexts
from coattend.tables import TEXTS
from coattend.text.identity import text_id

ADDED = st.lists(st.tuples(st.text(st.characters(codec="utf-8"), max_size=3), st.sampled_from(KINDS)))


def rows(texts):
    return {name: texts.table(name).to_pylist() for name in texts.keys()}  # noqa: SIM118 (not a dictionary)


def filled(added, shards=3):
    texts = DistinctTexts(shards)
    for text, kind in added:
        texts.add(text, kind)
    return texts


@given(ADDED, st.integers(1, 5))
def test_each_text_once_in_its_shard_with_its_first_kind(added, shards):
    expected = {f"{shard:04d}-of-{shards:04d}": [] for shard in range(shards)}
    for text in {text for text, _ in added}:
        kind = min((kind for other, kind in added if other == text), key=KINDS.index)
        name = f"{int(text_id(text)[:8], 16) % shards:04d}-of-{shards:04d}"
        expected[name].append({"text_id": text_id(text), "kind": kind, "text": text})
    expected = {name: sorted(shard, key=lambda row: row["text_id"]) for name, shard in expected.items()}
    assert rows(filled(added, shards)) == expected


@given(ADDED, st.randoms())
def test_keys_and_tables_do_not_depend_on_the_order(added, random):
    shuffled = random.sample(added, len(added))
    one, other = filled(added), filled(shuffled)
    assert one.keys() == other.keys()
    assert rows(one) == rows(other)


@pytest.mark.parametrize("limit", ["TEXTS_WAITING", "CHARACTERS"])
def test_what_waits_on_disk_changes_nothing(monkeypatch, limit):
    added = [(f"text {number % 40}", KINDS[number % 3]) for number in range(200)]
    whole = filled(added)
    monkeypatch.setattr(distinct, limit, 20)
    pieces = filled(added)
    assert (pieces.keys(), rows(pieces)) == (whole.keys(), rows(whole))


def test_a_key_says_what_is_in_its_shard():
    keys = filled([("one", "passage"), ("two", "option")]).keys()
    assert keys != filled([("one", "passage"), ("two", "filled")]).keys()
    more = filled([("one", "passage"), ("two", "option"), ("three", "option")]).keys()
    changed = [name for name in keys if keys[name] != more[name]]
    assert changed == [f"{int(text_id('three')[:8], 16) % 3:04d}-of-0003"]


def test_tables_have_the_schema():
    assert filled([]).table("0000-of-0003").schema == TEXTS
    assert filled([("one", "passage")], 1).table("0000-of-0001").schema == TEXTS
