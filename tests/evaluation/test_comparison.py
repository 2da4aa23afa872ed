"""A variant beside its baseline: what is drawn, what is told of each seed, what can be resolved, what is corrected."""

from math import sqrt
from statistics import NormalDist

import numpy as np
import pytest

from coattend.evaluation.comparison import Pair, compare, corrected, expected_resolution
from coattend.evaluation.significance import mcnemar, paired_bootstrap

PASSAGES = np.repeat(np.arange(60), 2)


def right(seed, share):
    return (np.random.default_rng(seed).random(len(PASSAGES)) < share).astype(float)


def pair(variant_seeds, baseline_seeds=None, *, graded=False):
    """Trials of as many seeds, the variant's more often right; the seeds of each are apart by five points."""
    baseline_seeds = variant_seeds if baseline_seeds is None else baseline_seeds
    return Pair(
        {seed: right(seed, 0.55 + 0.05 * seed) for seed in range(variant_seeds)},
        {seed: right(100 + seed, 0.4 + 0.05 * seed) for seed in range(baseline_seeds)},
        graded=graded,
    )


def percent(marks):
    return 100 * np.stack(list(marks.values()))


def test_with_four_seeds_their_means_are_compared_and_with_five_seeds_are_drawn():
    four_seeds, five_seeds = pair(4), pair(5)
    four, five = compare([four_seeds, five_seeds], PASSAGES)
    assert (four.over_seeds, five.over_seeds) == (False, True)
    means = [percent(marks).mean(0, keepdims=True) for marks in (four_seeds.ours, four_seeds.theirs)]
    assert four.difference == paired_bootstrap(*means, PASSAGES)
    assert five.difference == paired_bootstrap(percent(five_seeds.ours), percent(five_seeds.theirs), PASSAGES)
    of_means = paired_bootstrap(
        *(percent(values).mean(0, keepdims=True) for values in (five_seeds.ours, five_seeds.theirs)), PASSAGES
    )
    assert five.difference.mean == pytest.approx(of_means.mean)
    assert five.difference.high - five.difference.low > 1.3 * (of_means.high - of_means.low)


def test_seeds_are_drawn_only_where_both_have_enough():
    for variant_seeds, baseline_seeds in [(5, 4), (4, 5)]:
        (comparison,) = compare([pair(variant_seeds, baseline_seeds)], PASSAGES)
        assert not comparison.over_seeds
        assert [of_seed.seed for of_seed in comparison.by_seed] == [0, 1, 2, 3]


def test_each_seed_that_both_have_is_told_alone():
    complete = pair(3)
    baseline = {2: complete.theirs[2], 0: complete.theirs[0], 7: complete.theirs[1]}
    comparison, graded = compare(
        [Pair(complete.ours, baseline, graded=False), Pair(complete.ours, baseline, graded=True)], PASSAGES
    )
    assert [of_seed.seed for of_seed in comparison.by_seed] == [0, 2]
    for of_seed in comparison.by_seed:
        variant, base = complete.ours[of_seed.seed], baseline[of_seed.seed]
        assert of_seed.difference == paired_bootstrap(100 * variant[None], 100 * base[None], PASSAGES)
        assert of_seed.mcnemar_p == mcnemar(variant > 0, base > 0)
    assert [of_seed.mcnemar_p for of_seed in graded.by_seed] == [None, None]
    assert [of_seed.difference for of_seed in graded.by_seed] == [of_seed.difference for of_seed in comparison.by_seed]


def test_what_is_resolved_follows_from_the_intervals_width():
    """In four of five cases a level of 5 % is passed by a difference of 1.96 + 0.84 standard errors."""
    (comparison,) = compare([pair(1)], PASSAGES)
    error = (comparison.difference.high - comparison.difference.low) / (2 * 1.959964)
    assert comparison.resolves == pytest.approx((1.959964 + 0.841621) * error, rel=1e-6)


def test_one_passage_resolves_nothing():
    (comparison,) = compare([pair(1)], np.zeros(len(PASSAGES)))
    assert (comparison.difference.low, comparison.resolves) == (None, None)
    assert comparison.by_seed[0].mcnemar_p is not None


def test_what_is_expected_is_what_independent_questions_then_resolve():
    """With one and a half questions in ten won, and as many lost."""
    won = np.repeat([1.0, 0.0, 0.0], [150, 150, 700])
    lost = np.repeat([0.0, 1.0, 0.0], [150, 150, 700])
    (comparison,) = compare([Pair({0: won}, {0: lost}, graded=False)], np.arange(1000))
    normal = NormalDist()
    expected = 100 * (normal.inv_cdf(0.975) + normal.inv_cdf(0.8)) * sqrt(0.3 / 1000)
    assert expected_resolution(1000) == pytest.approx(expected)
    assert comparison.resolves == pytest.approx(expected, rel=0.05)


def test_p_values_are_corrected_for_how_many_they_are():
    """Holm: the smallest of four times 4, the next times 3, and none is below one that comes before it."""
    assert corrected([0.01, None, 0.04, 0.03, 0.005]) == pytest.approx([0.03, None, 0.06, 0.06, 0.02])
    assert corrected([0.4, 0.6]) == pytest.approx([0.8, 0.8])
    assert corrected([0.7, 0.6]) == [1.0, 1.0]
    assert corrected([0.02]) == [0.02]
    assert corrected([None, None]) == [None, None]
    assert corrected([]) == []


def test_holm_equals_his_own_steps():
    for count in range(1, 9):
        p_values = np.random.default_rng(count).random(count).round(1).tolist()
        ordered = sorted((p, index) for index, p in enumerate(p_values))
        expected, before = [0.0] * count, 0.0
        for step, (p, index) in enumerate(ordered):
            expected[index] = before = max(before, min(1.0, (count - step) * p))
        assert corrected(p_values) == pytest.approx(expected)
