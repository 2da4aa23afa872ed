"""Null thresholds against trying all of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coattend.evaluation.no_answer import auroc, best_threshold, choose

QUESTIONS = st.lists(
    st.tuples(st.integers(-3, 3), st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.sampled_from([0.0, 1.0])),
    min_size=1,
    max_size=15,
)


def score_at(threshold, null_scores, answered, unanswered):
    return np.where(np.array(null_scores) > threshold, unanswered, answered).mean()


@given(QUESTIONS)
def test_no_threshold_is_better_and_the_score_is_what_it_says(questions):
    null_scores, answered, unanswered = zip(*questions, strict=True)
    choice = choose(null_scores, answered, unanswered, chosen_on="oracle")
    assert choice.score == pytest.approx(score_at(choice.value, null_scores, answered, unanswered))
    for threshold in [min(null_scores) - 1, *null_scores]:
        assert score_at(threshold, null_scores, answered, unanswered) <= choice.score + 1e-12
    assert choice.chosen_on == "oracle"
    assert best_threshold(null_scores, answered, unanswered) == choice.value


@given(QUESTIONS)
def test_it_answers_only_what_is_strictly_worth_it(questions):
    null_scores, answered, unanswered = zip(*questions, strict=True)
    choice = choose(null_scores, answered, unanswered, chosen_on="held_out")
    for lower in [min(null_scores) - 1, *null_scores]:
        if lower < choice.value:
            assert score_at(lower, null_scores, answered, unanswered) < choice.score


def test_without_a_gain_no_question_is_answered():
    choice = choose([0.5, 0.5, 2.0], [0.0, 1.0, 0.0], [1.0, 0.0, 1.0], chosen_on="held_out")
    assert (choice.value, choice.score, choice.chosen_on) == (-0.5, pytest.approx(2 / 3), "held_out")


def test_exact_match_and_f1_may_want_different_thresholds():
    null_scores, unanswered = [0.0, 1.0], [0.0, 0.0]
    assert choose(null_scores, [1.0, 0.0], unanswered, chosen_on="held_out").value == 0
    assert choose(null_scores, [1.0, 0.4], unanswered, chosen_on="held_out").value == 1


def test_nothing_to_choose_from_is_refused():
    with pytest.raises(ValueError, match=r"^a threshold needs at least one question$"):
        choose([], [], [], chosen_on="held_out")


@given(st.lists(st.tuples(st.integers(-2, 2), st.booleans()), max_size=20))
def test_auroc_equals_comparing_all_pairs(questions):
    pairs = [
        (without > with_answer) + (without == with_answer) / 2
        for without, lower in questions
        if not lower
        for with_answer, higher in questions
        if higher
    ]
    area = auroc(np.array([q[0] for q in questions]), np.array([q[1] for q in questions], dtype=bool))
    assert area == (pytest.approx(sum(pairs) / len(pairs)) if pairs else None)
