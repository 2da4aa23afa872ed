"""Agreement of attention with occlusion, against ranks counted by hand."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coattend.inference import explanation_agreement

NUMBERS = st.integers(-3, 3).map(lambda number: number / 2)


def ranks(values):
    """Of equal ones the mean of their places."""
    return [sum(o < value for o in values) + (sum(o == value for o in values) - 1) / 2 for value in values]


def slow(left, right):
    a, b = ranks(left), ranks(right)
    a, b = ([rank - sum(of) / len(of) for rank in of] for of in (a, b))
    above = sum(x * y for x, y in zip(a, b, strict=True))
    below = math.sqrt(sum(x * x for x in a) * sum(y * y for y in b))
    return above / below if below else None


@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=3, max_size=12))
def test_it_is_spearmans_correlation_of_ranks(pairs):
    left, right = zip(*pairs, strict=True)
    correlation, expected = explanation_agreement.rank_correlation(left, right), slow(left, right)
    assert correlation == (None if expected is None else pytest.approx(expected, abs=1e-12))


def test_only_the_order_counts_and_words_without_a_number_do_not():
    drops = [0.1, math.nan, 0.2, 0.3, 0.9]
    assert explanation_agreement.rank_correlation([1, -50, 10, 100, 1000], drops) == pytest.approx(1)
    assert explanation_agreement.rank_correlation([4, 99, 3, 2, 1], drops) == pytest.approx(-1)
    assert explanation_agreement.rank_correlation([1, 2, 3], [2, 9, 4]) == pytest.approx(0.5)


def test_a_word_without_a_number_may_be_none_as_it_is_in_json():
    drops = [0.1, 0.7, 0.2, 0.3]
    assert explanation_agreement.rank_correlation([1, None, 2, 3], drops) == pytest.approx(1)
    assert explanation_agreement.rank_correlation(drops, [3, None, 2, 1]) == pytest.approx(-1)
    assert explanation_agreement.rank_correlation([5, 1, 2, 5], [1, 2, 3, 4]) is not None


@pytest.mark.parametrize(
    "pairs",
    [([1, 2], [1, 2]), ([1, 1, 1], [1, 2, 3]), ([1, 2, 3], [1, 1, 1]), ([1, 2, 3], [math.nan, 2, 3]), ([], [])],
)
def test_what_cannot_be_told_is_not_told(pairs):
    assert explanation_agreement.rank_correlation(*pairs) is None


def test_tokens_become_words():
    values, words = [0.5, 0.1, 0.2, 0.2, 9.0], [0, 1, 1, 3, -1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sums, means = [
            explanation_agreement.word_values(values, words, count=5, reduction=reduction)
            for reduction in ("sum", "mean")
        ]
    np.testing.assert_allclose(sums, [0.5, 0.3, np.nan, 0.2, np.nan])
    np.testing.assert_allclose(means, [0.5, 0.15, np.nan, 0.2, np.nan])


def test_the_mean_is_over_questions_that_have_one():
    assert explanation_agreement.mean_correlation([0.5, None, -0.1]) == {"mean": pytest.approx(0.2), "questions": 2}
    assert explanation_agreement.mean_correlation([None]) == {"mean": None, "questions": 0}


def test_agreement_is_averaged_over_the_questions_that_have_one_by_map_and_level():
    rows = [
        {"passage_scores": [0.5, None], "question_scores": [0.1]},
        {"passage_scores": [0.2, None], "question_scores": [-0.3]},
        {"passage_scores": [None, 0.4]},
    ]
    readings = [{"agreement": levels} for levels in rows]
    assert explanation_agreement.mean_agreement(readings) == {
        "passage_scores": [
            {"mean": pytest.approx(0.35), "questions": 2},
            {"mean": pytest.approx(0.4), "questions": 1},
        ],
        "question_scores": [{"mean": pytest.approx(-0.1), "questions": 2}],
    }
    assert explanation_agreement.mean_agreement([]) == {}


def test_questions_of_one_map_have_as_many_levels():
    readings = [{"agreement": {"passage_scores": levels}} for levels in ([0.5], [0.5, 0.1])]
    with pytest.raises(ValueError, match="is longer than"):
        explanation_agreement.mean_agreement(readings)
