"""Wrong tags by lot: as many as asked for, never a word's own, the same wherever a text stands."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coattend.batches.ablations import replace_tags
from coattend.batches.tokens import Tokens
from coattend.text.hashing import text_id
from coattend.text.tagset import ERR

TAGS = 39


def tokens_of(texts):
    """Tokens of texts given as lists of tags, one a word."""
    lengths = [len(tags) for tags in texts.values()]
    flat = np.array([tag for tags in texts.values() for tag in tags], np.int8)
    zeros = np.zeros(len(flat), np.int32)
    rows = {text_id(name): row for row, name in enumerate(texts)}
    return Tokens(rows, np.concatenate([[0], np.cumsum(lengths)]), zeros, flat, zeros, zeros, "a tagger", "a tokenizer")


def random_tokens(count=4000):
    return tokens_of({"a text": (np.arange(count) % (TAGS - 2) + 2).tolist()})


@pytest.mark.parametrize("share", [0.05, 0.1, 0.2])
def test_so_many_words_have_another_tag(share):
    tokens = random_tokens()
    changed = replace_tags(tokens, share=share, kind="wrong", tag_count=TAGS).tag_ids != tokens.tag_ids
    assert changed.mean() == pytest.approx(share, rel=0.2)


def test_a_wrong_tag_is_a_tag_and_not_the_words_own():
    tokens = random_tokens()
    tag_ids = replace_tags(tokens, share=1.0, kind="wrong", tag_count=TAGS).tag_ids
    assert (tag_ids != tokens.tag_ids).all()
    assert set(tag_ids.tolist()) == set(range(ERR + 1, TAGS))


def test_or_it_is_the_one_for_no_tag():
    tag_ids = replace_tags(random_tokens(), share=1.0, kind="err", tag_count=TAGS).tag_ids
    assert (tag_ids == ERR).all()


def test_all_subwords_of_a_word_have_the_same_tag_and_what_is_no_word_keeps_its_own():
    tokens = tokens_of({"a text": [5, 5, 5, 7, 2, 9, 9]})
    words = np.array([0, 0, 0, 1, -1, 2, 2])
    tag_ids = replace_tags(tokens, share=1.0, kind="wrong", tag_count=TAGS, words=words).tag_ids
    assert len(set(tag_ids[:3].tolist())) == len(set(tag_ids[5:].tolist())) == 1
    assert tag_ids[4] == 2


@given(st.permutations(["one", "two", "three"]), st.floats(0, 1))
def test_a_text_has_the_same_mistakes_wherever_it_stands(names, share):
    texts = {"one": [4, 5, 6], "two": [], "three": [7, 2]}
    left, right = (
        replace_tags(t, share=share, kind="wrong", tag_count=TAGS)
        for t in map(tokens_of, (texts, {n: texts[n] for n in names}))
    )
    for name in texts:
        key = text_id(name)
        assert left.tag_ids[left.slice(left.rows[key])].tolist() == right.tag_ids[right.slice(right.rows[key])].tolist()


def test_a_greater_share_has_the_mistakes_of_a_smaller_one():
    tokens = random_tokens()
    lightly, heavily = (
        replace_tags(tokens, share=share, kind="wrong", tag_count=TAGS).tag_ids for share in (0.05, 0.2)
    )
    wrong = lightly != tokens.tag_ids
    assert (heavily[wrong] == lightly[wrong]).all()
