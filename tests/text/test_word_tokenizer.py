"""Words are those of NLTK's tokenizer, however busy the machine is."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from nltk import redos
from nltk.tokenize import NLTKWordTokenizer

from coattend.text.word_tokenizer import word_tokenizer

NLTK = NLTKWordTokenizer()
MARKS = [*"\"'`.,:;?!()[]{}<>-*@#$%&", "''", "``", "--", "...", "..", "\"'", "' ", " '", ".)", '."', "?'"]
CLITICS = ["'s", "'S", "'m", "'d", "'ll", "'LL", "'re", "'ve", "'VE", "n't", "N'T", "'Re", "'tis", "'Twas", "O'"]
JOINED = ["cannot", "Cannot", "d'ye", "gimme", "gonna", "GoNNa", "gotta", "lemme", "more'n", "wanna", "whatcha"]
PLAIN = [" ", "  ", "a", "I", "do", "the", "ca", "3", "1,000", "3.14", "U.S.", "Mr.", "it", "more", "_"]
TEXT = 'He said "no", (cannot you?) -- it\'s 3.14, "gonna" go... '


@settings(deadline=None, max_examples=200)
@given(st.lists(st.sampled_from([*MARKS, *CLITICS, *JOINED, *PLAIN]), max_size=16).map("".join))
@example('"a" "b"')
@example("(\"gonna'tis\" d'ye)")
@example("``a'' ''b`` ' c'")
@example("I cannot gimme it, lemme... more'n 'tis -- wanna ")
def test_pythons_regular_expressions_find_the_words_of_printable_ascii(text):
    assert word_tokenizer(plain=True).tokenize(text) == NLTK.tokenize(text)


@pytest.mark.parametrize("plain", [True, False])
def test_words_have_no_time_limit(monkeypatch, plain):
    words = NLTK.tokenize(TEXT)
    monkeypatch.setattr(redos, "DEFAULT_TIMEOUT", 1e-9)
    # So long a text exceeds the least time limit in each pattern that has one.
    assert word_tokenizer(plain=plain).tokenize(TEXT * 10_000) == words * 10_000
