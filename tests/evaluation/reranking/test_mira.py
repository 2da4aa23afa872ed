"""MIRA against its equations written out, and on problems that have a solution."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from coattend.evaluation.reranking.mira import MARGIN, differences, tune

FEATURES = 3


class NBest(NamedTuple):
    """A question's best candidates [candidates, features], and which of them is right."""

    features: np.ndarray
    right: int | None


def tuned(questions, start, **settings):
    return tune([differences(*question) for question in questions], start, **settings)


def problem(seed, *, noise=0.0, questions=30, candidates=4):
    """Questions whose right candidate is the best by hidden weights, but for noise."""
    random = np.random.default_rng(seed)
    hidden = random.normal(size=FEATURES)
    rankings = []
    for _ in range(questions):
        features = random.normal(size=(candidates, FEATURES))
        scores = features @ hidden + noise * random.normal(size=candidates)
        right = int(np.argmax(scores))
        features[right] += 0.3 * hidden  # So that there is a margin.
        rankings.append(NBest(features, right))
    return rankings


def violations(questions, weights):
    return sum(int(np.argmax(ranking.features @ weights)) != ranking.right for ranking in questions)


def slow(questions, start, *, epochs, aggressiveness, seed):
    """Cherry and Foster 2012, algorithm 1 with equation 6, with the scores of hope and fear written out."""
    random = np.random.default_rng(seed)
    weights, history = list(start), []
    for _ in range(epochs):
        for number in random.permutation(len(questions)):
            features, right = questions[number].features.tolist(), questions[number].right
            scores = [sum(w * f for w, f in zip(weights, row, strict=True)) for row in features]
            fear = max((k for k in range(len(scores)) if k != right), key=scores.__getitem__)
            change = [hope - bad for hope, bad in zip(features[right], features[fear], strict=True)]
            loss = max(0.0, 1 - (scores[right] - scores[fear]))
            step = min(aggressiveness, loss / sum(component * component for component in change))
            weights = [w + step * component for w, component in zip(weights, change, strict=True)]
            history.append(weights)
    return np.mean(history, axis=0)


@given(st.integers(0, 999), st.sampled_from([0.001, 0.1, 10.0]), st.integers(1, 3))
@settings(deadline=None, max_examples=30)
def test_it_equals_the_papers_steps(seed, aggressiveness, epochs):
    questions, start = problem(seed, noise=1.0, questions=8), np.array([1.0, 0.0, 0.0])
    setting = {"epochs": epochs, "aggressiveness": aggressiveness, "seed": 3}
    np.testing.assert_allclose(tuned(questions, start, **setting), slow(questions, start, **setting))


@given(st.integers(0, 999))
@settings(deadline=None, max_examples=15)
def test_a_problem_with_a_solution_is_solved(seed):
    questions = problem(seed)
    weights = tuned(questions, np.zeros(FEATURES), epochs=200, aggressiveness=1.0)
    assert violations(questions, weights) == 0


def test_it_gets_closer_where_there_is_no_solution():
    questions, start = problem(5, noise=0.5, questions=200), np.array([1.0, 0.0, 0.0])
    weights = tuned(questions, start, epochs=10, aggressiveness=0.01)
    assert violations(questions, weights) < violations(questions, start) / 2


@settings(deadline=None)
@given(st.lists(st.floats(-5, 5), min_size=FEATURES, max_size=FEATURES))
def test_a_step_is_as_large_as_needed_and_no_larger(right):
    question = NBest(np.array([[0.5, -0.5, 1.0], right]), 1)
    change = differences(*question)[0]
    assume(change @ change > 1e-6)
    weights = tuned([question], np.array([0.1, 0.2, 0.3]), epochs=1, aggressiveness=1e9)
    assert change @ weights == pytest.approx(max(MARGIN, change @ [0.1, 0.2, 0.3]))
    bound = 0.001
    short = tuned([question], np.array([0.1, 0.2, 0.3]), epochs=1, aggressiveness=bound) - [0.1, 0.2, 0.3]
    assert np.linalg.norm(short) <= bound * np.linalg.norm(change) + 1e-12


def test_lists_without_the_right_candidate_or_a_wrong_one_teach_nothing():
    start = np.array([1.0, 2.0, 3.0])
    idle = [NBest(np.ones((4, FEATURES)), None), NBest(np.ones((1, FEATURES)), 0)]
    assert tuned(idle, start, epochs=3, aggressiveness=1.0) is start
    taught = problem(1)
    setting = {"epochs": 2, "aggressiveness": 0.1}
    np.testing.assert_array_equal(tuned(taught, start, **setting), tuned([*idle, *taught], start, **setting))
