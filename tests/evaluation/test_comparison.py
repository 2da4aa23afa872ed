"""A variant beside its baseline: what is covered, told of each seed, resolved and corrected."""

from math import sqrt
from statistics import NormalDist

import numpy as np
import pytest

from coattend.evaluation.comparison import Pair, compare, corrected, expected_resolution
from coattend.evaluation.significance import mcnemar, paired_test

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


def test_from_two_seeds_on_they_are_covered_and_with_a_single_one_the_trials_alone_are_compared():
    alone, beside_one, two = compare([pair(1), pair(2, 1), pair(2)], PASSAGES)
    assert (alone.over_seeds, beside_one.over_seeds, two.over_seeds) == (False, False, True)
    assert two.difference == paired_test(*(percent(marks) for marks in pair(2)[:2]), PASSAGES)
    means = [percent(marks).mean(0, keepdims=True) for marks in pair(2, 1)[:2]]
    assert beside_one.difference == paired_test(*means, PASSAGES)
    of_means = paired_test(*(percent(marks).mean(0, keepdims=True) for marks in pair(5)[:2]), PASSAGES)
    (five,) = compare([pair(5)], PASSAGES)
    assert five.difference.mean == pytest.approx(of_means.mean)
    assert five.difference.high - five.difference.low > 1.3 * (of_means.high - of_means.low)
    assert five.difference.p > of_means.p


def test_each_seed_that_both_have_is_told_alone():
    complete = pair(3)
    baseline = {2: complete.theirs[2], 0: complete.theirs[0], 7: complete.theirs[1]}
    comparison, graded = compare(
        [Pair(complete.ours, baseline, graded=False), Pair(complete.ours, baseline, graded=True)], PASSAGES
    )
    assert [of_seed.seed for of_seed in comparison.by_seed] == [0, 2]
    for of_seed in comparison.by_seed:
        variant, base = complete.ours[of_seed.seed], baseline[of_seed.seed]
        assert of_seed.difference == paired_test(100 * variant[None], 100 * base[None], PASSAGES)
        assert of_seed.mcnemar_p is None, "two questions are about each passage"
    assert [of_seed.mcnemar_p for of_seed in graded.by_seed] == [None, None]
    apart, _ = compare([Pair(complete.ours, baseline, graded=False), pair(1)], np.arange(len(PASSAGES)))
    assert [of_seed.mcnemar_p for of_seed in apart.by_seed] == [
        mcnemar(complete.ours[seed] > 0, baseline[seed] > 0) for seed in (0, 2)
    ]
    assert [of_seed.difference for of_seed in graded.by_seed] == [of_seed.difference for of_seed in comparison.by_seed]


def test_a_question_with_a_weight_counts_as_if_it_stood_there_so_often():
    weights = np.where(PASSAGES < 20, 1, 3)
    copies = np.repeat(np.arange(len(PASSAGES)), weights)
    several, alone = pair(3), pair(1)

    def copied(pair):
        return Pair(
            *({seed: of_seed[copies] for seed, of_seed in side.items()} for side in pair[:2]), graded=pair.graded
        )

    weighted = compare([several, alone], PASSAGES, weights.astype(float))
    assert weighted == compare([copied(several), copied(alone)], PASSAGES[copies])
    assert weighted != compare([several, alone], PASSAGES)


def test_what_is_resolved_follows_from_the_intervals_width():
    """In four of five cases a level of 5 % is passed by a difference of 1.96 + 0.84 standard errors."""
    (comparison,) = compare([pair(1)], PASSAGES)
    error = (comparison.difference.high - comparison.difference.low) / (2 * 1.959964)
    assert comparison.resolves == pytest.approx((1.959964 + 0.841621) * error, rel=1e-6)


def test_one_passage_resolves_nothing():
    (comparison,) = compare([pair(1)], np.zeros(len(PASSAGES)))
    assert (comparison.difference.low, comparison.resolves) == (None, None)
    assert comparison.by_seed[0].mcnemar_p is None


def test_readers_whose_differences_do_not_vary_resolve_nothing():
    """Identical readers, and one that is right on all questions where the other is right on none."""
    answers = right(0, 0.5)
    same = Pair({0: answers}, {0: answers}, graded=False)
    constant = Pair({0: np.ones(len(PASSAGES))}, {0: np.zeros(len(PASSAGES))}, graded=False)
    few = Pair({0: right(1, 0.5)}, {0: right(2, 0.5)}, graded=False)
    assert [comparison.resolves for comparison in compare([same, constant], PASSAGES)] == [None, None]
    (comparison,) = compare([few], PASSAGES % 5)
    assert (comparison.difference.low, comparison.resolves) == (None, None)
    (two_seeds,) = compare([Pair({0: right(1, 0.9), 1: right(2, 0.2)}, pair(2).theirs, graded=False)], PASSAGES)
    assert two_seeds.difference.high - two_seeds.difference.low > 100
    assert two_seeds.resolves is None


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
