"""Learned classes of words against a likelihood that is counted from the text."""

import itertools
import math
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from coattend.evaluation.reranking.word_classes import learn_word_classes

SENTENCES = st.lists(st.lists(st.sampled_from("abcdefg"), min_size=1, max_size=6), min_size=1, max_size=12)


def log_likelihood(sentences, classes):
    """Of a bigram model p(w | v) = p(w | class of w) p(class of w | class of v) with relative frequencies."""
    pairs = []
    for words in sentences:
        padded = ["<edge>", *words, "<edge>"]
        pairs += itertools.pairwise(padded)

    def class_of(word):
        # The edges of sentences and all words without a class are classes of their own.
        return word if word == "<edge>" else classes.get(word, "<rare>")

    both = Counter((class_of(left), class_of(right)) for left, right in pairs)
    before, behind = (Counter(class_of(pair[side]) for pair in pairs) for side in (0, 1))
    words = Counter(right if class_of(right) != "<rare>" else "<rare>" for _, right in pairs)
    return sum(
        math.log(both[class_of(left), class_of(right)] / before[class_of(left)])
        + math.log(words[right if class_of(right) != "<rare>" else "<rare>"] / behind[class_of(right)])
        for left, right in pairs
    )


@settings(max_examples=30)
@given(SENTENCES, st.integers(1, 4), st.integers(1, 2))
def test_no_pass_makes_the_text_less_likely(sentences, classes, at_least):
    scores = [
        log_likelihood(sentences, learn_word_classes(sentences, classes=classes, at_least=at_least, passes=passes))
        for passes in range(5)
    ]
    assert all(later >= earlier - 1e-9 for earlier, later in itertools.pairwise(scores))


@settings(max_examples=30)
@given(SENTENCES, st.integers(2, 3))
def test_in_the_end_no_word_has_a_better_class(sentences, classes):
    learned = learn_word_classes(sentences, classes=classes, at_least=1, passes=50)
    best = log_likelihood(sentences, learned)
    for word, other in itertools.product(learned, range(classes)):
        assert log_likelihood(sentences, learned | {word: other}) <= best + 1e-6


@settings(max_examples=30)
@given(SENTENCES, st.randoms(use_true_random=False))
def test_the_order_of_sentences_changes_nothing(sentences, random):
    shuffled = random.sample(sentences, len(sentences))
    first, second = (learn_word_classes(part, classes=3, at_least=1, passes=3) for part in (sentences, shuffled))
    assert first == second


def test_words_that_stand_between_the_same_words_share_a_class():
    parts = (("the", "a"), ("red", "old"), ("cat", "dog", "fox"), ("ran", "sat"))
    sentences = [list(words) for words in itertools.product(*parts)] + [["the", "once", "sat"]]
    learned = learn_word_classes(sentences, classes=4, at_least=2, passes=10)
    assert {frozenset(word for word in learned if learned[word] == number) for number in range(4)} == {
        frozenset(words) for words in parts
    }
    assert "once" not in learned
    assert learn_word_classes([["once"]], classes=4, at_least=2, passes=10) == {}
