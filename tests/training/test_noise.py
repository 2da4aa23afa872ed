"""Wrong tags by lot: as many as asked for, never a word's own, the same wherever a text stands."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coattend.text.identity import text_id
from coattend.text.tagset import ERR
from coattend.training.noise import with_noise
from coattend.training.tokens import Tokens

TAGS = 39


def tokens_of(texts):
    """Tokens of texts given as lists of tags, one a word."""
    lengths = [len(tags) for tags in texts.values()]
    flat = np.array([tag for tags in texts.values() for tag in tags], np.int8)
    zeros = np.zeros(len(flat), np.int32)
    rows = {text_id(name): row for row, name in enumerate(texts)}
    return Tokens(rows, np.concatenate([[0], np.cumsum(lengths)]), zeros, flat, zeros, zeros, "a tagger", "a tokenizer")


def many(count=4000):
    return tokens_of({"a text": (np.arange(count) % (TAGS - 2) + 2).tolist()})


@pytest.mark.parametrize("share", [0.05, 0.1, 0.2])
def test_so_many_words_have_another_tag(share):
    tokens = many()
    changed = with_noise(tokens, share=share, kind="wrong", tags=TAGS).tag_ids != tokens.tag_ids
    assert changed.mean() == pytest.approx(share, rel=0.2)


def test_a_wrong_tag_is_a_tag_and_not_the_words_own():
    tokens = many()
    found = with_noise(tokens, share=1.0, kind="wrong", tags=TAGS).tag_ids
    assert (found != tokens.tag_ids).all()
    assert set(found.tolist()) == set(range(ERR + 1, TAGS))


def test_or_it_is_the_one_for_no_tag():
    found = with_noise(many(), share=1.0, kind="err", tags=TAGS).tag_ids
    assert (found == ERR).all()


def test_all_subwords_of_a_word_have_the_same_tag_and_what_is_no_word_keeps_its_own():
    tokens = tokens_of({"a text": [5, 5, 5, 7, 2, 9, 9]})
    words = np.array([0, 0, 0, 1, -1, 2, 2])
    found = with_noise(tokens, share=1.0, kind="wrong", tags=TAGS, words=words).tag_ids
    assert len(set(found[:3].tolist())) == len(set(found[5:].tolist())) == 1
    assert found[4] == 2


@given(st.permutations(["one", "two", "three"]), st.floats(0, 1))
def test_a_text_has_the_same_mistakes_wherever_it_stands(names, share):
    texts = {"one": [4, 5, 6], "two": [], "three": [7, 2]}
    here, there = (
        with_noise(t, share=share, kind="wrong", tags=TAGS)
        for t in map(tokens_of, (texts, {n: texts[n] for n in names}))
    )
    for name in texts:
        key = text_id(name)
        assert here.tag_ids[here.slice(here.rows[key])].tolist() == there.tag_ids[there.slice(there.rows[key])].tolist()


def test_a_greater_share_has_the_mistakes_of_a_smaller_one():
    tokens = many()
    few, more = (with_noise(tokens, share=share, kind="wrong", tags=TAGS).tag_ids for share in (0.05, 0.2))
    wrong = few != tokens.tag_ids
    assert (more[wrong] == few[wrong]).all()
