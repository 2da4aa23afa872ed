"""Bootstrap intervals: drawing by hand, coverage, clusters, seeds, edges."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coattend.evaluation.bootstrap import interval, intervals, resampled_means


def clustered(random, passages, size, spread):
    """Right or wrong, where passages differ in how hard they are."""
    hard = np.clip(random.normal(0.5, spread, passages), 0, 1)
    values = (random.random((passages, size)) < hard[:, None]).astype(float)
    return values.reshape(1, -1), np.repeat(np.arange(passages), size)


def slow_means(values, passages, resamples, seed):
    random = np.random.default_rng(seed)
    names = sorted(set(passages))
    means = []
    for _ in range(resamples):
        drawn = [names[i] for i in random.integers(len(names), size=len(names))]
        resampled = [
            value for name in drawn for value, passage in zip(values[0], passages, strict=True) if passage == name
        ]
        means.append(sum(resampled) / len(resampled))
    return means


def test_equals_drawing_passages_one_by_one():
    values, passages = clustered(np.random.default_rng(0), 12, 3, 0.3)
    slow = slow_means(values, passages, 50, seed=7)
    (fast,) = resampled_means([values], passages, resamples=50, seed=7)
    assert fast == pytest.approx(slow)


def test_many_intervals_are_those_of_each_alone():
    random = np.random.default_rng(3)
    passages = np.repeat(np.arange(40), 3)
    several = [(random.random((seeds, 120)) < share).astype(float) for seeds, share in ((1, 0.4), (3, 0.7), (3, 0.2))]
    several += [random.random((3, 120)), np.ones((2, 120)), random.random((1, 120))]
    together = [list(vars(result).values()) for result in intervals(several, passages)]
    alone = [list(vars(interval(values, passages)).values()) for values in several]
    np.testing.assert_allclose(together, alone, rtol=1e-12)
    assert intervals(several, np.zeros(120)) == [interval(values, np.zeros(120)) for values in several]
    assert intervals([], passages) == []


def test_the_same_seed_gives_the_same_interval():
    values, passages = clustered(np.random.default_rng(0), 40, 3, 0.3)
    assert interval(values, passages) == interval(values, passages)
    assert interval(values, passages) != interval(values, passages, seed=1)


def test_the_ends_are_quantiles_of_the_resampled_means():
    values, passages = clustered(np.random.default_rng(0), 12, 3, 0.3)
    (means,) = resampled_means([values], passages, resamples=50, seed=7)
    bounds = interval(values, passages, resamples=50, level=0.5, seed=7)
    assert [bounds.low, bounds.high] == pytest.approx(np.quantile(means, [0.25, 0.75]).tolist())
    assert intervals([values], passages, resamples=50, level=0.5, seed=7) == [bounds]


def test_what_is_not_said_is_2000_resamples_and_a_level_of_95_percent():
    values, passages = clustered(np.random.default_rng(0), 40, 3, 0.3)
    explicit = interval(values, passages, resamples=2000, level=0.95, seed=0)
    assert interval(values, passages) == explicit
    assert intervals([values], passages) == [explicit]


def test_seeds_are_drawn_for_each_reader_behind_the_passages():
    random = np.random.default_rng(2)
    readers = [random.random((3, 20)), random.random((2, 20))]
    resampled = resampled_means(readers, np.repeat(np.arange(5), 4), resamples=6, seed=4)
    random = np.random.default_rng(4)
    passages = random.integers(5, size=(6, 5))
    for values, means in zip(readers, resampled, strict=True):
        seeds = random.integers(len(values), size=(6, len(values)))
        by_passage = values.reshape(len(values), 5, 4)
        slow = [by_passage[rows][:, drawn].mean() for rows, drawn in zip(seeds, passages, strict=True)]
        assert means == pytest.approx(slow)


def test_two_passages_have_an_interval():
    bounds = interval(np.array([[1.0, 0.0, 1.0]]), np.array([0, 0, 1]))
    assert (bounds.mean, bounds.low, bounds.high) == pytest.approx((2 / 3, 0.5, 1))


def test_covers_the_truth_where_questions_hang_together_and_single_draws_would_not():
    by_passage = by_question = 0
    random = np.random.default_rng(5)
    for _ in range(150):
        values, passages = clustered(random, 40, 8, 0.3)
        bounds = interval(values, passages, resamples=300)
        by_passage += bounds.low <= 0.5 <= bounds.high
        alone = interval(values, np.arange(values.shape[1]), resamples=300)
        by_question += alone.low <= 0.5 <= alone.high
    assert by_passage / 150 > 0.88
    assert by_question / 150 < 0.80


def test_several_seeds_widen_the_interval_by_their_spread():
    random = np.random.default_rng(1)
    values, passages = clustered(random, 300, 3, 0.1)
    alike = np.repeat(values, 3, axis=0)
    apart = np.stack([values[0] * 0.8, values[0], np.minimum(values[0] + 0.2, 1)])
    width = {name: interval(v, passages).high - interval(v, passages).low for name, v in (("1", alike), ("3", apart))}
    assert interval(alike, passages).mean == pytest.approx(interval(values, passages).mean)
    assert width["3"] > 1.5 * width["1"]


def test_one_passage_has_no_interval():
    bounds = interval(np.array([[0.0, 1.0, 1.0]]), np.zeros(3, dtype=int))
    assert (bounds.mean, bounds.low, bounds.high) == (pytest.approx(2 / 3), None, None)


def test_all_right_is_not_certain():
    """No failure in n: the lower end p is where p^n = 2.5 %."""
    bounds = interval(np.ones((1, 20)), np.arange(20))
    assert bounds.high == 1
    assert bounds.low**20 == pytest.approx(0.025)
    none = interval(np.zeros((1, 20)), np.arange(20))
    assert (none.low, 1 - none.high) == (0, pytest.approx(bounds.low))
    two = interval(np.ones((3, 2)), np.arange(2), level=0.5)
    assert (two.mean, two.low, two.high) == (1, pytest.approx(0.5), 1)
    assert interval(np.zeros((1, 2)), np.arange(2), level=0.5).high == pytest.approx(0.5)
    assert interval(np.ones((1, 1)), np.arange(1)).low is None


def test_nothing_is_refused():
    for shape in ((1, 0), (0, 3)):
        with pytest.raises(ValueError, match=r"^an interval needs at least one question and one seed$"):
            interval(np.zeros(shape), np.zeros(shape[1], dtype=int))


def test_blocks_of_draws_do_not_change_what_is_drawn(monkeypatch):
    values, passages = clustered(np.random.default_rng(0), 50, 2, 0.2)
    (unsplit,) = resampled_means([values], passages, resamples=25, seed=0)
    assert unsplit.shape == (25,)
    for cells in (500, 1):
        monkeypatch.setattr("coattend.evaluation.bootstrap._CELLS", cells)
        (blocks,) = resampled_means([values], passages, resamples=25, seed=0)
        assert blocks == pytest.approx(unsplit)


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
    passages = np.array([passage for passage, _ in rows])
    values = np.array([numbers for _, numbers in rows]).T
    bounds = interval(values, passages, resamples=50)
    assert bounds.mean == pytest.approx(values.mean())
    if len(set(passages)) > 1:
        assert -1e-9 <= bounds.low <= bounds.high <= 1 + 1e-9
