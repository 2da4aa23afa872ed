"""Answering without the passage is near chance, and looking for the options in it is not enough."""

import math
import re
from collections import Counter
from functools import cache
from itertools import product
from random import Random

import pytest

from coattend.data.synthetic import documents

CHANCE = 1 / 3
MARGIN = 0.04
FAR_FROM_SOLVED = 0.65


@cache
def words(text):
    return re.findall(r"[\w']+", text.lower())


def dialogues(seed, count):
    rng = Random(seed)
    for _ in range(count):
        turns, choices = documents.dialogue(rng, changes=0.2)
        for choice in choices:
            yield " ".join(turns), choice


@pytest.fixture(scope="module")
def train():
    return list(dialogues("train", 4000))


@pytest.fixture(scope="module")
def dev():
    return list(dialogues("dev", 2000))


class NaiveBayes:
    """Scores by the log odds of features of right against wrong items."""

    def __init__(self, items):
        self.counts = {True: Counter(), False: Counter()}
        for features, right in items:
            self.counts[right].update(features)
        self.totals = {right: sum(counts.values()) for right, counts in self.counts.items()}

    def __call__(self, features):
        odds = (self.share(feature, True) / self.share(feature, False) for feature in features)
        return sum(map(math.log, odds))

    def share(self, feature, right):
        return (self.counts[right][feature] + 1) / (self.totals[right] + 1e4)


def accuracy(dev, score):
    """Share of questions whose right option has the highest score; ties are shared out."""
    hits = 0.0
    for passage, choice in dev:
        scores = [score(passage, choice.question, option) for option in choice.options]
        best = [index for index, value in enumerate(scores) if value == max(scores)]
        hits += (choice.label in best) / len(best)
    return hits / len(dev)


def option_words(passage, question, option):
    return words(option)


def option_and_question_words(passage, question, option):
    return [*words(option), *product(words(question), words(option))]


@pytest.mark.parametrize("features", [option_words, option_and_question_words])
def test_question_and_options_alone_do_not_tell(train, dev, features):
    model = NaiveBayes(
        (features(passage, choice.question, option), index == choice.label)
        for passage, choice in train
        for index, option in enumerate(choice.options)
    )
    assert abs(accuracy(dev, lambda *parts: model(features(*parts))) - CHANCE) < MARGIN


@pytest.mark.parametrize(
    "score",
    [
        lambda passage, question, option: passage.count(option.rstrip(".")),
        lambda passage, question, option: sum(word in words(passage) for word in words(option)),
        lambda passage, question, option: sum(words(passage).count(word) for word in words(option)),
        lambda passage, question, option: passage.rfind(words(option)[-1]),
        lambda passage, question, option: -passage.find(words(option)[-1]),
        lambda passage, question, option: len(option),
    ],
    ids=["stands in it", "words in it", "often in it", "last in it", "first in it", "longest"],
)
def test_looking_for_the_options_is_not_enough(dev, score):
    assert accuracy(dev, score) < FAR_FROM_SOLVED


def test_labels_are_balanced(train):
    counts = Counter(choice.label for _, choice in train)
    assert all(abs(counts[label] / len(train) - CHANCE) < 0.02 for label in range(3))


def test_options_of_a_question_differ(train):
    assert all(len(set(choice.options)) == len(choice.options) == 3 for _, choice in train)


def test_a_question_alone_does_not_tell_whether_it_is_answered():
    rng = Random("spans")
    spans = [span for _ in range(4000) for span in documents.story(rng, changes=0.2)[1]]
    model = NaiveBayes((words(span.question), bool(span.answers)) for span in spans[:6000])
    answered = sorted(spans[6000:], key=lambda span: model(words(span.question)))
    half = len(answered) // 2
    rate = sum(bool(span.answers) for span in answered[half:]) / half
    assert abs(rate - 2 / 3) < MARGIN


@pytest.mark.parametrize("subset", ["NE", "CN"])
def test_candidates_of_a_cloze_question_occur_equally_often(subset):
    rng = Random("cloze")
    for _ in range(100):
        cloze = documents.cloze(rng, subset)
        text = words(" ".join(cloze.sentences))
        assert {text.count(candidate.lower()) for candidate in cloze.candidates} == {2}
        assert cloze.answer in cloze.candidates
        assert cloze.query.count("XXXXX") == 1
