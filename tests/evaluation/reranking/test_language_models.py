"""Language models against counting by hand; the sentences and the classes that they are made of."""

import math

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coattend.errors import CoattendError
from coattend.evaluation.reranking.language_models import (
    LanguageModel,
    distinct_sentences,
    filled,
    sentences_of,
    usual_tags,
    word_classes,
)
from coattend.text.cloze import fill_blank

SENTENCE = st.lists(st.sampled_from("abcd"), min_size=1, max_size=6)
SENTENCES = st.lists(SENTENCE, min_size=1, max_size=6)


def pad(words, order):
    return ["<s>"] * (order - 1) + list(words) + ["</s>"]


def occurrences(sentences, ngram, order):
    """Count an n-gram in the padded sentences by looking everywhere, with one unknown word more."""
    length, count = len(ngram), int(ngram == ["<UNK>"])
    for words in sentences:
        padded = pad(words, order)
        count += sum(padded[k : k + length] == ngram for k in range(len(padded) - length + 1))
    return count


def backoff(sentences, context, word, order):
    """Brants et al. 2007, equations 4 and 5, with a factor of 0.4."""
    if not context:
        return occurrences(sentences, [word], order) / (1 + sum(len(pad(words, order)) for words in sentences))
    together = occurrences(sentences, [*context, word], order)
    if together:
        followers = {padded for words in sentences for padded in pad(words, order)}
        return together / sum(occurrences(sentences, [*context, follower], order) for follower in followers)
    return 0.4 * backoff(sentences, context[1:], word, order)


def slow_log_score(sentences, words, positions, order):
    vocabulary = {word for sentence in sentences for word in sentence}
    padded = pad([word if word in vocabulary else "<UNK>" for word in words], order)
    shifted = [position + order - 1 for position in positions]
    return sum(math.log(backoff(sentences, padded[k - order + 1 : k], padded[k], order)) for k in shifted)


@given(SENTENCES, SENTENCE, st.integers(1, 4), st.data())
def test_scores_equal_counting_by_hand(sentences, words, order, data):
    words[data.draw(st.integers(0, len(words) - 1))] = "unseen"
    first = data.draw(st.integers(0, len(words) - 1))
    end = data.draw(st.integers(first + 1, len(words)))
    positions = range(first, min(end + order - 1, len(words) + 1))
    model = LanguageModel(sentences, order=order)
    assert model.log_score(words, first, end) == pytest.approx(slow_log_score(sentences, words, positions, order))


@given(SENTENCES, SENTENCE, st.integers(1, 4), st.data())
def test_the_rest_of_the_sentence_makes_no_difference(sentences, words, order, data):
    """Two words differ in score by as much as whole sentences with them do."""
    position = data.draw(st.integers(0, len(words) - 1))
    model = LanguageModel(sentences, order=order)
    near, full = [], []
    for word in ("a", "unseen"):
        words[position] = word
        near.append(model.log_score(words, position, position + 1))
        full.append(slow_log_score(sentences, words, range(len(words) + 1), order))
    assert near[0] - near[1] == pytest.approx(full[0] - full[1])


def test_it_learns_from_rare_words_where_unknown_ones_stand():
    model = LanguageModel([["he", "met", "Anna"], ["he", "saw", "her"], ["he", "saw", "her"]], order=2, at_least=2)
    after_met = model.log_score(["he", "met", "Boris"], 2, 3)
    assert after_met == model.log_score(["he", "met", "Anna"], 2, 3)
    assert after_met > model.log_score(["he", "met", "her"], 2, 3)


def test_too_many_n_grams_are_the_users_to_mend(monkeypatch):
    monkeypatch.setattr("nltk.lm.counter.MAX_NGRAMS", 5)
    with pytest.raises(CoattendError, match=r"too many n-grams .* Lower max_words or order"):
        LanguageModel([list("abcdef")], order=2)


def test_sentences_are_lines():
    assert sentences_of("He came .\n\n He saw it !\n") == [["He", "came", "."], ["He", "saw", "it", "!"]]


def test_sentences_that_passages_share_are_read_once():
    texts = iter(["a b .\nc d .", "c d .\ne f .", "g .", "not read"])
    assert distinct_sentences(texts, max_words=10) == [["a", "b", "."], ["c", "d", "."], ["e", "f", "."]]
    assert next(texts) == "not read"


def test_the_candidates_words_are_found_in_its_sentence():
    for question, candidate, expected in [
        ("_ saw him .", "Anna", ["Anna"]),
        ("She saw _", "him", ["him"]),
        ("She went to _ by train .", "New York", ["New", "York"]),
        ("It was `` _'s '' hat", "Anna", ["Anna's"]),
        ("The @placeholder came", "@entity3", ["@entity3"]),
    ]:
        words, first, end = filled(question, candidate)
        assert words[first:end] == expected
        assert words == fill_blank(question, candidate).split()


def test_the_usual_tag_is_the_most_frequent_one_over_all_batches():
    rows = [
        {"words": ["run", "run", "fast"], "tags": [7, 5, 4]},
        {"words": ["fast", "run", "run"], "tags": [3, 7, 5]},
        {"words": ["run"], "tags": [7]},
    ]
    schema = pa.schema({"words": pa.list_(pa.string()), "tags": pa.list_(pa.int8())})
    batches = [pa.RecordBatch.from_pylist([row], schema) for row in rows]
    assert usual_tags(batches) == {"run": 7, "fast": 3}
    assert usual_tags([]) == {}


def test_words_of_a_class_share_tag_and_band_of_frequency():
    counts = {"cat": 4, "dog": 7, "house": 8, "sun": 900, "moon": 5000, "sat": 4, "new": 4, "once": 1}
    tags = {"cat": 1, "dog": 1, "house": 1, "sun": 1, "moon": 1, "sat": 2, "once": 1}
    classes = word_classes(counts, tags, bands=10, at_least=2)
    assert classes["cat"] == classes["dog"]
    assert classes["sun"] == classes["moon"]
    assert len(set(classes.values())) == 5
    assert set(counts) - set(classes) == {"once"}
