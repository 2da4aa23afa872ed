"""Intervals of means: exact ones, coverage, groups, seeds, edges."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta, norm
from scipy.stats import t as student
from simulation import COIN_FLIPS, GRADED, GROUPS, SINGLE, UNEQUAL, coverage, with_seeds
from statsmodels.regression.linear_model import OLS
from statsmodels.stats.proportion import proportion_confint

from coattend.evaluation.intervals import Grouping, SeedVariance, interval, intervals


def clustered(random, groups, size, spread):
    """Right or wrong, where groups differ in how hard they are."""
    hard = np.clip(random.normal(0.5, spread, groups), 0, 1)
    values = (random.random((groups, size)) < hard[:, None]).astype(float)
    return values.reshape(1, -1), np.repeat(np.arange(groups), size)


def test_sums_are_those_of_each_group_whatever_the_order():
    groups, values = np.array([7, -1, 7, 3, -1, 7]), np.arange(12.0).reshape(2, 6)
    grouping = Grouping(groups)
    assert grouping.sizes.tolist() == [2, 1, 3]
    expected = [[row[groups == group].sum() for group in (-1, 3, 7)] for row in values]
    assert grouping.sums(values).tolist() == expected


def test_many_intervals_are_those_of_each_alone():
    random = np.random.default_rng(3)
    groups = np.repeat(np.arange(40), 3)
    several = [(random.random((seeds, 120)) < share).astype(float) for seeds, share in ((1, 0.4), (3, 0.7), (3, 0.2))]
    several += [random.random((3, 120)), np.ones((2, 120)), random.random((1, 120))]
    assert intervals(several, groups) == [interval(values, groups) for values in several]
    assert intervals([], groups) == []


@pytest.mark.parametrize("level", [0.95, 0.5])
def test_equal_groups_of_one_question_have_the_interval_of_clopper_and_pearson(level):
    """Of a few less questions than there are, as the variance of a sample is unknown; all right is exact."""
    values = (np.arange(4_000) < 3_000).astype(float)[None]
    bounds = interval(values, np.arange(4_000), level=level)
    expected = proportion_confint(3_000, 4_000, alpha=1 - level, method="beta")
    assert (bounds.low, bounds.high) == pytest.approx(expected, abs=2e-5)
    for count in (2, 20):
        right = interval(np.ones((1, count)), np.arange(count), level=level)
        exact = proportion_confint(count, count, alpha=1 - level, method="beta")
        assert (right.low, right.high) == pytest.approx(exact)
        wrong = interval(np.zeros((3, count)), np.arange(count), level=level)
        assert (wrong.low, wrong.high) == pytest.approx((0, 1 - exact[0]))


def test_many_groups_have_the_interval_of_a_regression_with_clusters():
    values, groups = clustered(np.random.default_rng(1), 800, 4, 0.3)
    regression = OLS(values[0], np.ones(len(groups))).fit(cov_type="cluster", cov_kwds={"groups": groups})
    ((low, high),) = regression.conf_int()
    bounds = interval(values, groups)
    assert (bounds.low, bounds.high) == pytest.approx((low, high), abs=0.001)


def slow_interval(values, groups, level):
    """Korn and Graubard's interval of one seed, group by group in plain Python; None if nothing varies."""
    members = {group: [v for v, g in zip(values, groups, strict=True) if g == group] for group in sorted(set(groups))}
    mean = sum(values) / len(values)
    rest = [[v for v, g in zip(values, groups, strict=True) if g != group] for group in members]
    without = [sum(others) / len(others) for others in rest]
    middle = sum(without) / len(without)
    variance = (len(members) - 1) / len(members) * sum((each - middle) ** 2 for each in without)
    if variance == 0:
        return None
    freedom = max(len(values) ** 2 / sum(len(of_group) ** 2 for of_group in members.values()) - 1, 1)
    upper = (1 + level) / 2
    worth = mean * (1 - mean) / variance * (norm.ppf(upper) / student.ppf(upper, freedom)) ** 2
    right, wrong = mean * worth, (1 - mean) * worth
    low = beta.ppf(1 - upper, right, wrong + 1) if right else 0.0
    high = beta.ppf(upper, right + 1, wrong) if wrong else 1.0
    return min(low, mean), max(high, mean)


@pytest.mark.parametrize("level", [0.95, 0.8])
@pytest.mark.parametrize("seed", range(6))
def test_the_interval_is_that_of_a_slow_form(seed, level):
    random = np.random.default_rng(seed)
    sizes = random.integers(1, 9, int(random.integers(2, 12)))
    groups = np.repeat(np.arange(len(sizes)), sizes)
    values = np.round(random.random(len(groups)), 1) if seed % 2 else (random.random(len(groups)) < 0.6) * 1.0
    bounds = interval(values[None], groups, level=level)
    expected = slow_interval(values.tolist(), groups.tolist(), level)
    assert expected is not None
    assert (bounds.low, bounds.high) == pytest.approx(expected, abs=1e-9)


def test_what_seeds_add_is_that_of_a_slow_form_where_groups_are_unequal():
    random = np.random.default_rng(5)
    sizes = np.array([1.0, 4.0, 2.0, 7.0, 3.0])
    sums = random.random((3, 5)) * sizes + np.array([[0.0], [0.6], [1.5]]) * sizes
    seeds, questions = 3, 17
    means = [sum(of_seed) / questions for of_seed in sums]
    middle = sum(means) / seeds
    between = sum((mean - middle) ** 2 for mean in means) / (seeds - 1)
    residuals = [
        [total - mean * size for total, size in zip(row, sizes, strict=True)]
        for row, mean in zip(sums, means, strict=True)
    ]
    columns = [sum(column) / seeds for column in zip(*residuals, strict=True)]
    squares = sum((cell - column) ** 2 for row in residuals for cell, column in zip(row, columns, strict=True))
    estimate = SeedVariance.of(sums, sizes)
    assert estimate.variance == pytest.approx((between - squares / questions**2 / (seeds - 1)) / seeds, rel=1e-12)
    assert estimate.freedom == 2
    assert estimate.reach(0.9) == pytest.approx(student.ppf(0.95, 2) * estimate.variance**0.5)


def test_a_large_group_among_small_ones_widens_the_interval():
    random = np.random.default_rng(4)
    values = (random.random((1, 80)) < 0.5).astype(float)
    even = interval(values, np.repeat(np.arange(8), 10))
    uneven = interval(values, np.repeat(np.arange(8), [45, 5, 5, 5, 5, 5, 5, 5]))
    assert uneven.high - uneven.low > even.high - even.low


def test_what_seeds_add_is_the_variance_of_an_analysis_of_variance():
    """Without the part that comes from drawing questions, which seeds that are equally good differ by, too."""
    random = np.random.default_rng(0)
    groups, seeds, runs = 30, 4, 2_000
    of_seed = random.normal(0, 0.1, (runs, seeds, 1))
    for spread in (of_seed, 0 * of_seed):
        sums = spread + random.normal(0, 0.5, (runs, seeds, groups))
        estimates = [SeedVariance.of(drawn, np.ones(groups)) for drawn in sums]
        assert {estimate.freedom for estimate in estimates} == {seeds - 1}
        mean = np.mean([estimate.variance for estimate in estimates])
        # Estimates below zero are cut off, which leaves a little where there is nothing.
        assert 0.1**2 / seeds * bool(spread.any()) <= mean < 0.1**2 / seeds * bool(spread.any()) + 0.25 / groups / seeds
    assert SeedVariance.of(sums[0][:1], np.ones(groups)).variance == 0


def test_several_seeds_widen_the_interval_by_their_spread():
    random = np.random.default_rng(1)
    values, groups = clustered(random, 300, 3, 0.1)
    alike = np.repeat(values, 3, axis=0)
    apart = np.stack([values[0] * 0.8, values[0], np.minimum(values[0] + 0.2, 1)])
    width = {name: interval(v, groups).high - interval(v, groups).low for name, v in (("1", alike), ("3", apart))}
    assert interval(alike, groups) == interval(values, groups)
    assert width["3"] > 1.5 * width["1"]


def test_one_group_has_no_interval():
    bounds = interval(np.array([[0.0, 1.0, 1.0]]), np.zeros(3, dtype=int))
    assert (bounds.mean, bounds.low, bounds.high) == (pytest.approx(2 / 3), None, None)


def test_two_groups_say_hardly_anything():
    bounds = interval(np.array([[1.0, 0.0, 1.0, 1.0]]), np.array([0, 0, 1, 1]))
    assert bounds.low < 0.05
    assert bounds.high > 0.95


def test_nothing_is_refused():
    for shape in ((1, 0), (0, 3)):
        with pytest.raises(ValueError, match=r"^an interval needs at least one question and one seed$"):
            interval(np.zeros(shape), np.zeros(shape[1], dtype=int))


@given(
    st.integers(1, 3).flatmap(
        lambda seeds: st.lists(
            st.tuples(st.integers(-3, 3), st.lists(st.floats(0, 1), min_size=seeds, max_size=seeds)),
            min_size=1,
            max_size=12,
        )
    )
)
def test_the_mean_is_the_mean_and_the_interval_lies_in_the_range(rows):
    groups = np.array([group for group, _ in rows])
    values = np.array([numbers for _, numbers in rows]).T
    bounds = interval(values, groups)
    assert bounds.mean == pytest.approx(values.mean())
    if len(set(groups.tolist())) > 1:
        assert 0 <= bounds.low <= bounds.mean + 1e-9
        assert bounds.mean - 1e-9 <= bounds.high <= 1


@pytest.mark.parametrize(
    "world", [COIN_FLIPS, UNEQUAL, GRADED, with_seeds(UNEQUAL, 3, 3)], ids=lambda world: world.title
)
@pytest.mark.parametrize("groups", [4, 10, 20])
def test_intervals_hold_the_truth(world, groups):
    """A percentile bootstrap over groups holds it in 79 to 93 % of such runs, but for coin flips in four groups."""
    assert coverage(world, groups, 400) > 0.92


@pytest.mark.long
@pytest.mark.parametrize("world", SINGLE, ids=lambda world: world.title)
def test_intervals_hold_the_truth_in_twenty_thousand_runs(world):
    assert min(coverage(world, groups, 20_000) for groups in GROUPS) > 0.93
