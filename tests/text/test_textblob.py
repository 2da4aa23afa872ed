from itertools import pairwise

import nltk
import pytest
from hypothesis import example, given, settings
from strategies import texts

from coattend.text.textblob import TextblobTagger
from coattend.text.word_tokenizer import _by_space, _locate, split_sentences


def whole_line(line):
    return [(0, len(line))]


def written(text, spans=whole_line):
    return [
        [text[start:end] for start, end in zip(s.starts, s.ends, strict=True)] for s in split_sentences(text, spans)
    ]


@settings(deadline=None, max_examples=300)
@given(texts)
@example("\ud800 lone \udfff")
@example("\"''\" '\"' ``\"")
def test_words_are_the_text_without_its_spaces_in_order(text):
    for spans in (whole_line, TextblobTagger().sentence_spans):
        word_spans = [span for s in split_sentences(text, spans) for span in zip(s.starts, s.ends, strict=True)]
        assert all(start < end for start, end in word_spans)
        assert all(end <= start for (_, end), (start, _) in pairwise(word_spans))
        assert "".join(text[start:end] for start, end in word_spans) == "".join(text.split())


@settings(deadline=None, max_examples=300)
@given(texts)
def test_forms_are_what_nltk_makes_of_each_line(text):
    line = text.replace("\n", " ").replace("\r", " ")
    forms = [form for sentence in split_sentences(line, whole_line) for form in sentence.forms]
    assert forms == nltk.tokenize.NLTKWordTokenizer().tokenize(line)


def test_double_quotes_keep_their_place_though_nltk_rewrites_them():
    text = "He said \"no\", ''yes'' and ``so''."
    (sentence,) = split_sentences(text, whole_line)
    assert written(text) == [["He", "said", '"', "no", '"', ",", "''", "yes", "''", "and", "``", "so", "''", "."]]
    assert sentence.forms[2] == "``"
    assert sentence.forms[4] == "''"
    assert (sentence.starts[2:5], sentence.ends[2:5]) == ([8, 9, 11], [9, 11, 12])


def test_places_are_those_in_the_whole_text():
    def halves(line):
        return [(0, len(line) // 2), (len(line) // 2, len(line))]

    text = "One two.\r\n\nThree. Four. "
    sentences = list(split_sentences(text, halves))
    assert [(sentence.forms, sentence.starts, sentence.ends) for sentence in sentences] == [
        (["One"], [0], [3]),
        (["two", "."], [4, 7], [7, 8]),
        (["Three", "."], [11, 16], [16, 17]),
        (["Four", "."], [18, 22], [22, 23]),
    ]


PLACES = [
    (["a", "b"], " a  b ", [(1, 2), (4, 5)]),
    (["a", "b"], "ab", [(0, 1), (1, 2)]),
    (["``", "a", "''"], '"a"', [(0, 1), (1, 2), (2, 3)]),
    (["''", "``"], '""', [(0, 1), (1, 2)]),
    (["``", "a"], "''a", [(0, 2), (2, 3)]),
    (["''", "a"], "''a", [(0, 2), (2, 3)]),
    (["''", "a"], "``a", None),
    (["'", "a"], '"a', None),
    (["a", "c"], "a b", None),
    (["a", "b"], "a", None),
    (["a"], "a b", None),
    ([], "", []),
    ([], " ", []),
    ([], "a", None),
]


def test_forms_are_found_where_only_spaces_and_double_quotes_were_changed(subtests):
    for forms, sentence, expected in PLACES:
        with subtests.test(forms=forms, sentence=sentence):
            assert _locate(forms, sentence) == expected


def test_where_more_was_changed_words_are_what_stands_between_spaces():
    assert _by_space(" it's 5 \u2009so. ") == (["it's", "5", "so."], [(1, 5), (6, 7), (9, 12)])
    assert _by_space(" ") == ([], [])


def test_contractions_are_split_and_lines_are_kept_apart():
    assert written("W: I can't.\nM: You cannot") == [["W", ":", "I", "ca", "n't", "."], ["M", ":", "You", "can", "not"]]


@pytest.mark.parametrize("text", ["", " ", "\n\r\n", "\u2028\xa0"])
def test_a_text_without_words_has_no_sentences(text):
    assert written(text) == []


PIECES = [".", "'", '"', ". ", "a.", "\u0301", "?!", "`", "😀"]


def test_long_runs_are_split_in_a_moment(subtests):
    for piece in PIECES:
        with subtests.test(piece=piece):
            text = piece * 8_000
            for spans in (whole_line, TextblobTagger().sentence_spans):
                assert "".join(word for sentence in written(text, spans) for word in sentence) == "".join(text.split())
