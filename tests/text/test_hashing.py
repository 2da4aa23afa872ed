import hashlib

from hypothesis import given
from hypothesis import strategies as st

from coattend.text.hashing import text_id


def test_it_is_the_start_of_the_sha256_of_the_text():
    assert text_id("W: Hello.\nM: Hi.") == hashlib.sha256(b"W: Hello.\nM: Hi.").hexdigest()[:24]


def test_a_lone_surrogate_has_an_id():
    assert len(text_id("\ud800")) == 24


@given(st.text(), st.text())
def test_different_texts_have_different_ids(first, second):
    assert (text_id(first) == text_id(second)) == (first == second)
