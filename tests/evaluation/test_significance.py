"""Paired tests: against counting, and under the null."""

from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coattend.evaluation.bootstrap import resampled_means
from coattend.evaluation.comparison import expected_resolution
from coattend.evaluation.significance import Difference, mcnemar, paired_bootstrap, paired_bootstraps

ANSWERS = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=40)


@given(ANSWERS)
def test_mcnemar_equals_counting_all_ways(pairs):
    first, second = (np.array(column) for column in zip(*pairs, strict=True))
    wins, losses = sum(a and not b for a, b in pairs), sum(b and not a for a, b in pairs)
    count = wins + losses
    as_far = sum(comb(count, k) for k in range(count + 1) if abs(k - count / 2) >= abs(wins - count / 2))
    assert mcnemar(first, second) == pytest.approx(as_far / 2**count)
    assert mcnemar(first, second) == mcnemar(second, first)


def test_mcnemar_of_many_questions():
    first = np.arange(200_000) < 101_000
    assert mcnemar(first, ~first) == pytest.approx(7.8e-6, rel=0.05)
    assert mcnemar(first, first) == 1


@pytest.mark.parametrize("seeds", [(1, 1), (2, 3)])
def test_the_interval_and_p_are_those_of_the_resampled_differences(seeds):
    random, passages = np.random.default_rng(6), np.repeat(np.arange(30), 2)
    first, second = ((random.random((count, 60)) < share) * 1.0 for count, share in zip(seeds, (0.6, 0.5), strict=True))
    better, worse = resampled_means([first, second], passages, resamples=200, seed=5)
    differences = better - worse
    fewer = min(sum(differences < 1e-9), sum(differences > -1e-9))
    expected = (first.mean() - second.mean(), *np.quantile(differences, [0.025, 0.975]), 2 * (1 + fewer) / 201)
    difference = paired_bootstrap(first, second, passages, resamples=200, seed=5)
    assert tuple(vars(difference).values()) == pytest.approx(expected)
    assert 2 / 201 < difference.p < 1
    assert paired_bootstraps([(first, second)], passages, resamples=200, seed=5) == [difference]


def test_what_is_not_said_is_10000_resamples_of_seed_0():
    first, second = np.eye(2, 20), np.eye(2, 20, 5)
    explicit = paired_bootstrap(first, second, np.arange(20), resamples=10_000, seed=0)
    assert paired_bootstrap(first, second, np.arange(20)) == explicit
    assert paired_bootstraps([(first, second)], np.arange(20)) == [explicit]


def test_two_passages_are_enough_for_an_interval():
    difference = paired_bootstrap(np.array([[1.0, 1.0]]), np.array([[0.0, 0.5]]), np.arange(2))
    assert difference == Difference(0.75, 0.5, 1.0, 2 / 10_001)


def test_a_real_difference_is_found_and_its_sign_is_right():
    random = np.random.default_rng(0)
    passages = np.repeat(np.arange(400), 3)
    better = (random.random((1, 1200)) < 0.65).astype(float)
    worse = (random.random((1, 1200)) < 0.5).astype(float)
    difference = paired_bootstrap(better, worse, passages)
    assert difference.low > 0
    assert difference.p < 0.01
    turned = paired_bootstrap(worse, better, passages)
    assert turned.mean == pytest.approx(-difference.mean)
    assert turned.high < 0


def test_pairing_finds_what_two_intervals_would_not():
    random = np.random.default_rng(1)
    base = random.random((1, 600)) < 0.5
    gained = base | (random.random((1, 600)) < 0.06)
    difference = paired_bootstrap(gained.astype(float), base.astype(float), np.arange(600))
    assert difference.mean < 0.06
    assert difference.p < 0.01


def test_the_p_value_is_honest_where_there_is_no_difference():
    random = np.random.default_rng(2)
    passages = np.repeat(np.arange(80), 2)
    low = 0
    for trial in range(200):
        hard = np.repeat(random.random(80), 2)
        first, second = (random.random((2, 1, 160)) < hard).astype(float)
        difference = paired_bootstrap(first, second, passages, resamples=400, seed=trial)
        low += difference.p < 0.05
        assert (difference.p < 0.05) == (not difference.low <= 0 <= difference.high) or 0.03 < difference.p < 0.07
    assert low / 200 < 0.1


def test_equal_readers_and_single_passages():
    values = np.array([[1.0, 0.0, 1.0]])
    same = paired_bootstrap(values, values, np.arange(3))
    assert (same.mean, same.low, same.high, same.p) == (0, 0, 0, 1)
    alone = paired_bootstrap(values, 1 - values, np.zeros(3, dtype=int))
    assert (alone.low, alone.high, alone.p) == (None, None, None)


def test_many_differences_are_those_of_each_alone():
    random = np.random.default_rng(3)
    passages = np.repeat(np.arange(30), 3)
    pairs = [
        (
            (random.random((first_count, 90)) < 0.6).astype(float),
            (random.random((second_count, 90)) < 0.5).astype(float),
        )
        for first_count, second_count in ((1, 1), (5, 5), (1, 1), (5, 3))
    ]
    pairs.append(tuple(side.mean(0, keepdims=True) for side in pairs[3]))
    together = [list(vars(result).values()) for result in paired_bootstraps(pairs, passages)]
    np.testing.assert_allclose(
        together, [list(vars(paired_bootstrap(*readers, passages)).values()) for readers in pairs]
    )
    assert paired_bootstraps(pairs, np.zeros(90)) == [paired_bootstrap(*readers, np.zeros(90)) for readers in pairs]


def test_a_rounded_zero_is_no_difference():
    thirds = np.array([[1 / 3, 2 / 3, 0.1 + 0.2, 0.7]])
    swapped = np.array([[2 / 3, 1 / 3, 0.3, 0.7]])
    assert paired_bootstrap(thirds, swapped, np.array([0, 0, 1, 1])).p == 1


def test_readers_may_have_different_numbers_of_seeds():
    random = np.random.default_rng(0)
    difference = paired_bootstrap(random.random((3, 50)), random.random((1, 50)), np.arange(50))
    assert difference.low < difference.mean < difference.high


def test_fewer_questions_resolve_larger_differences_and_none_resolve_nothing():
    assert expected_resolution(100) == pytest.approx(10 * expected_resolution(10_000))
    assert expected_resolution(0) is None
