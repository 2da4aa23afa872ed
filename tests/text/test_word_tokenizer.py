"""Our fast form of NLTK's word rules beside NLTK itself."""

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from nltk import redos
from nltk.tokenize import NLTKWordTokenizer
from strategies import texts

from coattend.data.synthetic.generate import parse_settings, write_sample
from coattend.text import word_tokenizer
from coattend.text.textblob import TextblobTagger

NLTK = NLTKWordTokenizer()
PATTERNS = [
    *(pattern for pattern, _ in (*NLTK.STARTING_QUOTES, *NLTK.PUNCTUATION, *NLTK.ENDING_QUOTES)),
    NLTK.PARENS_BRACKETS[0], NLTK.DOUBLE_DASHES[0], *NLTK.CONTRACTIONS2, *NLTK.CONTRACTIONS3,
]  # fmt: skip
MARKS = [*"\"'`.,:;?!()[]{}<>-*@#$%&", "''", "``", "--", "...", "..", "\"'", "' ", " '", ".)", '."', "?'"]
CLITICS = ["'s", "'S", "'m", "'d", "'ll", "'LL", "'re", "'ve", "'VE", "n't", "N'T", "'Re", "'tis", "'Twas", "O'"]
JOINED = ["cannot", "Cannot", "d'ye", "gimme", "gonna", "GoNNa", "gotta", "lemme", "more'n", "wanna", "whatcha"]
PLAIN = [" ", "  ", "a", "I", "do", "the", "ca", "3", "1,000", "3.14", "U.S.", "Mr.", "it", "more", "_", "\t"]
OTHER = [*"«»“”‘’„‒–—―…", "é", "e\u0301", "\u0301", "²", "½", "٣", "𞅀", "ſ", "gİmme", "'tıs", "'tiſ", "\x1c", "\u2028"]
ascii_texts = st.lists(st.sampled_from([*MARKS, *CLITICS, *JOINED, *PLAIN]), max_size=16).map("".join)
mixed_texts = st.lists(st.sampled_from([*MARKS, *CLITICS, *JOINED, *PLAIN, *OTHER]), max_size=16).map("".join)


@settings(deadline=None, max_examples=400)
@given(st.one_of(ascii_texts, mixed_texts, texts))
@example('"a" "b"')
@example("(\"gonna'tis\" d'ye)")
@example("``a'' ''b`` ' c'")
@example("it's\x1cso")
@example("I cannot gimme it, lemme... more'n 'tis -- wanna ")
def test_words_are_nltks(text):
    assert word_tokenizer.treebank_words(text) == NLTK.tokenize(text)


@settings(deadline=None, max_examples=15)
@given(st.data())
def test_what_a_pattern_matches_has_what_it_is_said_to_need(data):
    """Of a pattern that is missing here, because NLTK changed it, words stay right and become slower."""
    for pattern in (compiled.pattern for compiled in PATTERNS):
        needs = word_tokenizer._NEEDS[pattern]
        matched = re.search(pattern, data.draw(st.from_regex(pattern))).group()
        if matched.isascii() or not any(need.isalpha() for need in needs):
            assert any(need in matched.lower() for need in needs), pattern


@pytest.mark.parametrize("text", ["Quick quacks, quoth 'q'.", "Quick – quacks…"])
def test_a_rule_that_nltk_adds_is_obeyed(monkeypatch, text):
    added = (redos.compile(r"(?i)([q])(?=u)"), r"\1 ")
    monkeypatch.setattr(NLTKWordTokenizer, "PUNCTUATION", [added, *NLTKWordTokenizer.PUNCTUATION])
    contraction = re.compile(r"(ac)(ks)")
    monkeypatch.setattr(NLTKWordTokenizer, "CONTRACTIONS2", [*NLTKWordTokenizer.CONTRACTIONS2, contraction])
    word_tokenizer._rules.cache_clear()
    try:
        assert word_tokenizer.treebank_words(text) == NLTKWordTokenizer().tokenize(text)
    finally:
        word_tokenizer._rules.cache_clear()


def test_words_of_the_sample_are_nltks(tmp_path):
    counts = {"train": 8, "dev": 1}
    generators = ("dialogues", "stories", "clozes", "tales", "exams", "summaries", "news", "rows")
    write_sample(tmp_path, parse_settings(dict.fromkeys(generators, counts)))
    texts = (file.read_text() for file in tmp_path.rglob("*") if file.suffix in (".json", ".jsonl", ".txt", ".csv"))
    lines = {line for text in texts for line in text.splitlines()}
    sentences = {line[start:end] for line in lines for start, end in TextblobTagger().sentence_spans(line)}
    assert len(sentences) > 300
    assert [
        sentence for sentence in sentences if word_tokenizer.treebank_words(sentence) != NLTK.tokenize(sentence)
    ] == []
