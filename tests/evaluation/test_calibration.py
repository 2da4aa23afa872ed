"""Calibration and risk against coverage, beside plain readings of their definitions, and beside scikit-learn."""

import math
from fractions import Fraction
from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coattend.evaluation.calibration import BINS, at_coverages, error_by_chance, reliability, risks

CONFIDENCE = st.one_of(st.sampled_from([0.25, 0.5, 0.75, 1.0]), st.floats(0, 1, width=32))
QUESTIONS = st.lists(st.tuples(CONFIDENCE, st.booleans()), min_size=1, max_size=60)


def arrays(questions):
    sure, right = zip(*questions, strict=True)
    return np.array(sure, float), np.array(right, float)


def plain_sizes(count):
    """Bins of equal mass: as equal as can be, the greater ones first."""
    bins = min(BINS, count)
    return [count // bins + (place < count % bins) for place in range(bins)]


def plain_accuracy(questions):
    """What answers are worth that are as sure as one."""
    return {
        sure: Fraction(sum(right for s, right in questions if s == sure), sum(s == sure for s, _ in questions))
        for sure, _ in questions
    }


def plain_error(questions):
    worth, ranked, error = plain_accuracy(questions), sorted(sure for sure, _ in questions), 0.0
    for size in plain_sizes(len(questions)):
        held, ranked = ranked[:size], ranked[size:]
        error += abs(sum(held) - float(sum(worth[sure] for sure in held)))
    return error / len(questions)


def plain_risks(questions):
    worth = plain_accuracy(questions)
    ranked = sorted((sure for sure, _ in questions), reverse=True)
    return [float(1 - sum(worth[sure] for sure in ranked[:k]) / k) for k in range(1, len(ranked) + 1)]


@given(QUESTIONS)
def test_the_calibration_error_is_that_of_its_definition(questions):
    found = reliability(*arrays(questions))
    assert found.questions.tolist() == plain_sizes(len(questions))
    assert found.error == pytest.approx(plain_error(questions), abs=1e-12)
    assert np.all(np.diff(found.confidence) >= -1e-12)
    assert found.accuracy @ found.questions == pytest.approx(sum(right for _, right in questions))


@given(QUESTIONS, st.randoms())
def test_the_order_of_questions_plays_no_part(questions, random):
    mixed = random.sample(questions, len(questions))
    assert reliability(*arrays(mixed)).error == pytest.approx(reliability(*arrays(questions)).error, abs=1e-12)
    assert risks(*arrays(mixed)) == pytest.approx(risks(*arrays(questions)), abs=1e-12)


@given(QUESTIONS)
def test_risks_are_those_of_the_definition(questions):
    found = risks(*arrays(questions))
    assert found == pytest.approx(plain_risks(questions), abs=1e-12)
    assert found[-1] == pytest.approx(1 - sum(right for _, right in questions) / len(questions))


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from([0.3, 0.6]), st.booleans()), min_size=1, max_size=6))
def test_equally_sure_answers_have_the_mean_risk_of_all_their_orders(questions):
    orders = [
        [1 - np.mean([right for _, right in order[:k]]) for k in range(1, len(order) + 1)]
        for order in permutations(questions)
        if all(before[0] >= after[0] for before, after in pairwise(order))
    ]
    assert risks(*arrays(questions)) == pytest.approx(np.mean(orders, axis=0), abs=1e-12)


@given(QUESTIONS, st.integers(1, 100))
def test_the_curve_goes_through_the_risks_and_lies_between_them(questions, percent):
    found, count = risks(*arrays(questions)), len(questions)
    shares = np.arange(1, count + 1) / count
    assert at_coverages(found, shares) == pytest.approx(found, abs=1e-9)
    answered = percent / 100 * count
    below = math.floor(answered)
    errors = [0.0, *(found * np.arange(1, count + 1)), 0.0]
    expected = (errors[below] + (answered - below) * (errors[below + 1] - errors[below])) / answered
    assert at_coverages(found, np.array([percent / 100]))[0] == pytest.approx(expected, abs=1e-9)


@settings(deadline=None)
@given(st.integers(1, 6), st.randoms(use_true_random=False))
def test_bins_are_scikit_learns_quantiles(per_bin, random):
    """It bins by quantiles: the same bins where no two questions are equally sure and bins hold equally many."""
    calibration = pytest.importorskip("sklearn.calibration")
    sure = np.array(random.sample(range(1, 10_000), BINS * per_bin)) / 10_000
    right = np.array([float(random.random() < share) for share in sure])
    accuracy, confidence = calibration.calibration_curve(right, sure, n_bins=BINS, strategy="quantile")
    found = reliability(sure, right)
    assert found.confidence == pytest.approx(confidence)
    assert found.accuracy == pytest.approx(accuracy)
    assert found.error == pytest.approx(np.mean(np.abs(accuracy - confidence)))


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 40), st.booleans()), min_size=2, max_size=60))
def test_risks_are_one_less_scikit_learns_precision(questions):
    """The precision of "it is right" at the threshold of each distinct confidence."""
    metrics = pytest.importorskip("sklearn.metrics")
    sure, right = arrays(questions)
    if not right.any():
        return
    precision, _, thresholds = metrics.precision_recall_curve(right, sure)
    found = risks(sure, right)
    for value, threshold in zip(precision, thresholds, strict=False):
        assert 1 - found[int((sure >= threshold).sum()) - 1] == pytest.approx(value)


def test_the_error_by_chance_is_that_of_readers_whose_confidence_is_right():
    chance = np.random.default_rng(0)
    sure = chance.uniform(0.3, 1, 800)
    drawn = [reliability(sure, (chance.random(800) < sure).astype(float)).error for _ in range(400)]
    assert error_by_chance(sure) == pytest.approx(np.mean(drawn), rel=0.05)


def test_a_perfect_reader_has_no_error_and_no_risk():
    found = reliability(np.ones(30), np.ones(30))
    assert found.error == 0
    assert risks(np.ones(30), np.ones(30)).max() == 0
    assert error_by_chance(np.ones(30)) == 0
