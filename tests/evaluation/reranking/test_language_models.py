"""Language models against their definition and against NLTK's; the sentences that they are made of."""

import math
from collections import Counter

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from nltk.lm import KneserNeyInterpolated

from coattend.evaluation.reranking.language_models import (
    LanguageModel,
    Span,
    distinct_sentences,
    filled,
    sentences_of,
)
from coattend.text.cloze import fill_blank

SENTENCE = st.lists(st.sampled_from("abcd"), min_size=1, max_size=6)
SENTENCES = st.lists(SENTENCE, min_size=1, max_size=6)


def log_score(model, words, first, end):
    return float(model.log_scores([Span(words, first, end)])[0])


def ngrams_of(sentences, length, order):
    """The n-grams of a length that end in a word or in the end of a sentence, with a word more in front."""
    for words in sentences:
        padded = ["<s>"] * order + list(words) + ["</s>"]
        yield from (tuple(padded[end - length : end + 1]) for end in range(order, len(padded)))


def kneser_ney(sentences, context, word, order, discounts=None):
    """Interpolated Kneser-Ney from its definition, by looking everywhere; a context of None comes before any word."""
    if context is None:
        vocabulary = {word for words in sentences for word in words}
        return 1 / (len(vocabulary) + 2)
    length = len(context) + 1
    wider = list(ngrams_of(sentences, length, order))
    # The longest n-grams count as often as they occur, others once for each different word before them.
    counts = Counter(ngram[1:] for ngram in (wider if length == order else set(wider)))
    frequencies = Counter(counts.values())
    estimated = frequencies[1] / (frequencies[1] + 2 * frequencies[2]) if frequencies[1] and frequencies[2] else 0.5
    discount = estimated if discounts is None else discounts[length - 1]
    shorter = kneser_ney(sentences, context[1:] if context else None, word, order, discounts)
    followers = {ngram[-1]: count for ngram, count in counts.items() if ngram[:-1] == context}
    if not followers:
        return shorter
    total = sum(followers.values())
    return (max(followers.get(word, 0) - discount, 0) + discount * len(followers) * shorter) / total


def slow_log_score(sentences, words, positions, order):
    vocabulary = {word for sentence in sentences for word in sentence}
    padded = ["<s>"] * (order - 1) + [word if word in vocabulary else "<UNK>" for word in words] + ["</s>"]
    shifted = [position + order - 1 for position in positions]
    return sum(math.log(kneser_ney(sentences, tuple(padded[k - order + 1 : k]), padded[k], order)) for k in shifted)


@settings(max_examples=30)
@given(SENTENCES, SENTENCE, st.integers(1, 4), st.data())
def test_scores_equal_the_definition(sentences, words, order, data):
    words[data.draw(st.integers(0, len(words) - 1))] = "unseen"
    first = data.draw(st.integers(0, len(words) - 1))
    end = data.draw(st.integers(first + 1, len(words)))
    positions = range(first, min(end + order - 1, len(words) + 1))
    model = LanguageModel(sentences, order=order)
    assert log_score(model, words, first, end) == pytest.approx(slow_log_score(sentences, words, positions, order))


@settings(max_examples=30)
@given(SENTENCES, st.lists(st.sampled_from(["<s>", *"abcd", "<UNK>"]), max_size=3).map(tuple))
def test_probabilities_of_the_definition_sum_to_one(sentences, context):
    outcomes = {word for words in sentences for word in words} | {"<UNK>", "</s>"}
    order = len(context) + 1
    assert sum(kneser_ney(sentences, context, word, order) for word in outcomes) == pytest.approx(1)


@settings(max_examples=30)
@given(SENTENCES)
def test_probabilities_of_single_words_leave_the_end_its_share(sentences):
    words = {word for sentence in sentences for word in sentence} | {"unseen"}
    model = LanguageModel(sentences, order=1)
    assert sum(math.exp(log_score(model, [word], 0, 1)) for word in words) == pytest.approx(
        1 - kneser_ney(sentences, (), "</s>", 1)
    )


@settings(max_examples=30)
@given(SENTENCES, SENTENCE, st.integers(2, 4), st.sampled_from([0.1, 0.5, 0.75]))
def test_scores_equal_those_of_nltk(sentences, words, order, discount):
    """NLTK leaves the probabilities of single words as they are, and knows one discount for all lengths."""
    words = [word for word in words if any(word in sentence for sentence in sentences)]
    assume(words)
    theirs = KneserNeyInterpolated(order, discount)
    ngrams = [[gram[1:] for length in range(1, order + 1) for gram in ngrams_of([s], length, order)] for s in sentences]
    theirs.fit(ngrams, [*(word for sentence in sentences for word in sentence), "<s>", "</s>"])
    padded = ["<s>"] * (order - 1) + words + ["</s>"]
    expected = sum(
        math.log(theirs.unmasked_score(padded[end], tuple(padded[end - order + 1 : end])))
        for end in range(order - 1, len(padded))
    )
    ours = LanguageModel(sentences, order=order, discounts=[0, *[discount] * (order - 1)])
    assert log_score(ours, words, 0, len(words)) == pytest.approx(expected)


@settings(max_examples=30)
@given(SENTENCES, SENTENCE, st.integers(1, 4), st.data())
def test_the_rest_of_the_sentence_makes_no_difference(sentences, words, order, data):
    """Two words differ in score by as much as whole sentences with them do."""
    position = data.draw(st.integers(0, len(words) - 1))
    model = LanguageModel(sentences, order=order)
    near, full = [], []
    for word in ("a", "unseen"):
        words[position] = word
        near.append(log_score(model, words, position, position + 1))
        full.append(slow_log_score(sentences, words, range(len(words) + 1), order))
    assert near[0] - near[1] == pytest.approx(full[0] - full[1])


def test_a_model_without_text_takes_all_words_to_be_as_likely():
    model = LanguageModel([], order=3)
    assert log_score(model, ["a", "b"], 0, 1) == log_score(model, ["c", "b"], 0, 1) < 0


def test_it_learns_from_rare_words_where_unknown_ones_stand():
    model = LanguageModel([["he", "met", "Anna"], ["he", "saw", "her"], ["he", "saw", "her"]], order=2, at_least=2)
    after_met = log_score(model, ["he", "met", "Boris"], 2, 3)
    assert after_met == log_score(model, ["he", "met", "Anna"], 2, 3)
    assert after_met > log_score(model, ["he", "met", "her"], 2, 3)


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
