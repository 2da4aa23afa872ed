"""Paired tests: against counting, scipy's permutation test, and under the null."""

from itertools import product
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, permutation_test, t
from simulation import ALIKE, COIN_FLIPS, GRADED, GROUPS, UNEQUAL, WORLDS, false_alarms, with_seeds

from coattend.evaluation.comparison import expected_resolution
from coattend.evaluation.significance import (
    FEWEST_GROUPS,
    Difference,
    mcnemar,
    mcnemar_where_independent,
    paired_test,
    paired_tests,
)

ANSWERS = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=40)


def grouped(seed, groups=9, seeds=(1, 1), graded=False):
    """Two readers' marks, and groups of one to five questions."""
    random = np.random.default_rng(seed)
    of_question = np.repeat(np.arange(groups), random.integers(1, 6, groups))
    marks = [random.random((count, len(of_question))) for count in seeds]
    return [*(side if graded else (side < 0.5) * 1.0 for side in marks), of_question]


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


def test_mcnemar_is_left_out_where_questions_hang_together():
    first, second = np.array([True, True, False]), np.array([False, True, False])
    assert mcnemar_where_independent(first, second, np.array([4, 2, 9])) == mcnemar(first, second)
    assert mcnemar_where_independent(first, second, np.array([4, 4, 9])) is None


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=2, max_size=12))
def test_with_one_question_in_each_group_it_is_mcnemars_test(pairs):
    first, second = (np.array(column) for column in zip(*pairs, strict=True))
    difference = paired_test(first[None] * 1.0, second[None] * 1.0, np.arange(len(pairs)))
    assert difference.p == pytest.approx(mcnemar(first, second))


@pytest.mark.parametrize(("groups", "p"), [(2, 0.5), (4, 0.125), (5, 0.0625), (6, 0.03125), (13, 2 / 2**13)])
def test_one_reader_right_in_all_groups_and_the_other_in_none_has_the_p_value_of_the_sign_test(groups, p):
    of_question = np.repeat(np.arange(groups), 3)
    right, wrong = np.ones((1, 3 * groups)), np.zeros((1, 3 * groups))
    assert binomtest(groups, groups).pvalue == pytest.approx(p)
    # Nothing varies: the difference has no interval, however many groups there are.
    assert paired_test(right, wrong, of_question) == Difference(1.0, None, None, pytest.approx(p))


@pytest.mark.parametrize("seed", range(5))
def test_p_is_that_of_scipys_permutation_test(seed):
    first, second, groups = grouped(seed, graded=bool(seed % 2))
    sums = [np.bincount(groups, side[0]) for side in (first, second)]
    expected = permutation_test(
        sums, lambda a, b, axis: np.sum(a - b, axis), permutation_type="samples", vectorized=True, n_resamples=np.inf
    )
    assert paired_test(first, second, groups).p == pytest.approx(expected.pvalue)


@pytest.mark.parametrize("seed", range(3))
def test_the_interval_holds_the_differences_that_the_test_does_not_reject(seed):
    """By brute force: the smallest and largest shift that flipping the signs of all groups leaves possible."""
    first, second, groups = grouped(seed, groups=8, graded=True)
    sums, sizes = np.bincount(groups, (first - second)[0]), np.bincount(groups)
    signs = np.array(list(product([1, -1], repeat=8)))

    def is_possible(shift):
        shifted = sums - shift * sizes
        flipped = signs @ shifted
        tails = (np.mean(flipped >= shifted.sum() - 1e-12), np.mean(flipped <= shifted.sum() + 1e-12))
        return 2 * min(tails) > 0.05

    difference = paired_test(first, second, groups)
    for end, outwards in ((difference.low, -1e-6), (difference.high, 1e-6)):
        assert is_possible(end - outwards)
        assert not is_possible(end + outwards)


@given(st.integers(0, 200), st.integers(2, 16), st.sampled_from([(1, 1), (2, 2), (3, 5), (1, 3)]))
def test_zero_lies_outside_exactly_where_p_is_below_five_percent(seed, groups, seeds):
    first, second, of_question = grouped(seed, groups, seeds)
    difference = paired_test(np.maximum(first, seed % 3 == 0), second, of_question, subsets=500)
    if difference.low is None:
        assert groups < FEWEST_GROUPS or difference.p < 0.05 or np.isclose(difference.mean, 0)
    else:
        assert (difference.p < 0.05) == (not difference.low <= 0 <= difference.high)
        assert difference.low <= difference.mean <= difference.high
    if groups < FEWEST_GROUPS:
        assert difference.low is None
        assert difference.p > 0.05


@pytest.mark.parametrize("seeds", [(1, 1), (2, 3)])
def test_exchanged_readers_have_the_opposite_difference_and_the_same_p_value(seeds):
    """Also where few groups make the difference, so that its two sides reach differently far."""
    random = np.random.default_rng(4)
    groups = np.repeat(np.arange(12), random.integers(1, 6, 12))
    first, second = (random.random((count, len(groups))) * 0.2 for count in seeds)
    first[:, groups < 2] += 1.5
    one, other = paired_test(first, second, groups), paired_test(second, first, groups)
    assert one.mean > 0
    assert (one.mean, one.low, one.high) == pytest.approx((-other.mean, -other.high, -other.low), abs=1e-9)
    assert one.p == pytest.approx(other.p, abs=1e-9)
    assert one.high - one.mean != pytest.approx(one.mean - one.low, rel=0.05)


def test_all_subsets_are_taken_where_they_are_as_many_as_would_be_drawn():
    first, second, groups = grouped(1, groups=7)
    every = paired_test(first, second, groups)
    assert paired_test(first, second, groups, subsets=2**7 - 1) == every
    assert paired_test(first, second, groups, subsets=2**7 - 1, seed=1) == every


def test_where_all_groups_differ_alike_there_is_no_interval_but_a_p_value_that_knows_of_seeds():
    groups = np.repeat(np.arange(8), [1, 5, 2, 2, 3, 1, 4, 6])
    level = np.array([[0.1], [0.5], [0.9]])
    first, second = np.zeros((3, len(groups))) + level, np.zeros((3, len(groups))) + level[::-1] * 0.2
    difference = paired_test(first, second, groups)
    assert difference.low is None
    assert difference.high is None
    of_trials = paired_test(first[:1] * 0 + 0.5, second[:1] * 0 + 0.1, groups)
    assert of_trials.mean == pytest.approx(difference.mean)
    assert of_trials.low is None
    assert difference.p > 5 * of_trials.p


def test_drawn_subsets_come_near_to_all_of_them():
    first, second, groups = grouped(3, groups=12)
    every, drawn = paired_test(first, second, groups), paired_test(first, second, groups, subsets=4_000)
    assert drawn != every
    assert (drawn.low, drawn.high, drawn.p) == pytest.approx((every.low, every.high, every.p), abs=0.02)
    assert paired_test(first, second, groups, subsets=4_000, seed=1) != drawn
    assert paired_test(first, second, groups, subsets=4_000, seed=0) == drawn


def test_blocks_of_subsets_and_of_pairs_do_not_change_what_is_told(monkeypatch):
    first, second, groups = grouped(0, groups=20)
    pairs = [(first, second), (second, first), (first, first)]
    whole = paired_tests(pairs, groups, subsets=300)
    for cells in (900, 20):
        monkeypatch.setattr("coattend.evaluation.significance._CELLS", cells)
        assert [vars(result) for result in paired_tests(pairs, groups, subsets=300)] == [
            pytest.approx(vars(result)) for result in whole
        ]


def test_other_seeds_are_covered_by_students_interval_over_those_of_each_reader():
    """Where seeds differ and groups do not, it is all there is: the reaches of both readers add up as squares."""
    groups = np.repeat(np.arange(200), 2)
    alternating = np.tile([0.0, 1.0], 200)
    ours, theirs = ([alternating * share for share in shares] for shares in ((0.8, 0.9, 1.0), (0.6, 0.7, 0.5)))
    difference = paired_test(np.stack(ours), np.stack(theirs), groups + 0)
    reach = [t.ppf(0.975, 2) * np.std([side.mean() for side in sides], ddof=1) / 3**0.5 for sides in (ours, theirs)]
    assert difference.low is None, "no group differs from any other"
    noise = np.random.default_rng(0).random(400) * 1e-3
    difference = paired_test(np.stack(ours) + noise, np.stack(theirs), groups)
    assert (difference.high - difference.low) / 2 == pytest.approx(np.hypot(*reach), rel=0.01)
    # The p value is the level at which the reach is as long as the difference.
    low = [t.ppf(1 - difference.p / 2, 2) / t.ppf(0.975, 2) * length for length in reach]
    assert np.hypot(*low) == pytest.approx(difference.mean, rel=0.01)


def test_with_a_single_seed_of_one_reader_the_means_of_these_trials_are_compared():
    first, second, groups = grouped(0, 30, (3, 1))
    of_means = paired_test(first.mean(0, keepdims=True), second, groups)
    assert vars(paired_test(first, second, groups)) == pytest.approx(vars(of_means))


def test_a_real_difference_is_found_and_its_sign_is_right():
    random = np.random.default_rng(0)
    groups = np.repeat(np.arange(400), 3)
    better = (random.random((1, 1200)) < 0.65).astype(float)
    worse = (random.random((1, 1200)) < 0.5).astype(float)
    difference = paired_test(better, worse, groups)
    assert difference.low > 0
    assert difference.p < 0.01
    turned = paired_test(worse, better, groups)
    assert turned.mean == pytest.approx(-difference.mean)
    assert turned.high < 0


def test_pairing_finds_what_two_intervals_would_not():
    random = np.random.default_rng(1)
    base = random.random((1, 600)) < 0.5
    gained = base | (random.random((1, 600)) < 0.06)
    difference = paired_test(gained.astype(float), base.astype(float), np.arange(600))
    assert difference.mean < 0.06
    assert difference.p < 0.01


def test_equal_readers_and_single_groups():
    values = np.array([[1.0, 0.0, 1.0] * 4])
    assert paired_test(values, values, np.arange(12)) == Difference(0, None, None, 1)
    assert paired_test(values, 1 - values, np.zeros(12)) == Difference(pytest.approx(1 / 3), None, None, None)


def test_many_differences_are_those_of_each_alone():
    pairs = [tuple(grouped(0, 30, seeds)[:2]) for seeds in ((1, 1), (5, 5), (1, 1), (5, 3))]
    groups = grouped(0, 30)[2]
    together = [list(vars(result).values()) for result in paired_tests(pairs, groups)]
    np.testing.assert_allclose(together, [list(vars(paired_test(*readers, groups)).values()) for readers in pairs])
    assert paired_tests([], groups) == []


def test_a_rounded_zero_is_no_difference():
    thirds = np.array([[1 / 3, 2 / 3, 0.1 + 0.2, 0.7]])
    swapped = np.array([[2 / 3, 1 / 3, 0.3, 0.7]])
    assert paired_test(thirds, swapped, np.array([0, 0, 1, 1])).p == 1


def test_fewer_questions_resolve_larger_differences_and_none_resolve_nothing():
    assert expected_resolution(100) == pytest.approx(10 * expected_resolution(10_000))
    assert expected_resolution(0) is None


@pytest.mark.parametrize(
    "world",
    [COIN_FLIPS, ALIKE, UNEQUAL, GRADED, with_seeds(GRADED, 2, 2), with_seeds(UNEQUAL, 3, 5)],
    ids=lambda w: w.title,
)
@pytest.mark.parametrize("groups", [2, 4, 10])
def test_readers_that_are_equally_good_are_seldom_told_apart(world, groups):
    """A percentile bootstrap over groups tells readers with one seed apart in up to 48 % of such runs."""
    assert false_alarms(world, groups, 400, subsets=500) < 0.08


@pytest.mark.long
@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.title)
def test_readers_that_are_equally_good_are_told_apart_in_six_percent_of_twenty_thousand_runs_at_most(world):
    assert max(false_alarms(world, groups, 20_000) for groups in GROUPS) <= 0.06
