"""Null thresholds against trying all of them."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coattend.evaluation.no_answer import auroc, best_with_hindsight, choose

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
    choice = choose(null_scores, answered, unanswered)
    assert choice.score == pytest.approx(score_at(choice.value, null_scores, answered, unanswered))
    for threshold in [min(null_scores) - 1, *null_scores]:
        assert score_at(threshold, null_scores, answered, unanswered) <= choice.score + 1e-12


@given(QUESTIONS)
def test_it_answers_only_what_is_strictly_worth_it(questions):
    null_scores, answered, unanswered = zip(*questions, strict=True)
    choice = choose(null_scores, answered, unanswered)
    for lower in [min(null_scores) - 1, *null_scores]:
        if lower < choice.value:
            assert score_at(lower, null_scores, answered, unanswered) < choice.score


def test_without_a_gain_no_question_is_answered():
    choice = choose([0.5, 0.5, 2.0], [0.0, 1.0, 0.0], [1.0, 0.0, 1.0])
    assert (choice.value, choice.score) == (-0.5, pytest.approx(2 / 3))


def test_exact_match_and_f1_may_want_different_thresholds():
    null_scores, unanswered = [0.0, 1.0], [0.0, 0.0]
    assert choose(null_scores, [1.0, 0.0], unanswered).value == 0
    assert choose(null_scores, [1.0, 0.4], unanswered).value == 1


def test_nothing_to_choose_from_is_refused():
    with pytest.raises(ValueError, match=r"^a threshold needs at least one question$"):
        choose([], [], [])


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


def test_in_hindsight_each_trial_has_its_own_thresholds_in_splits_with_unanswerable_questions():
    shared = {"passage_id": "p", "task": "span", "answerable": True, "answers": [{"text": "x", "start": 0}]}
    questions = [
        shared | {"question_id": "d", "split": "train", "answerable": False, "answers": []},
        shared | {"question_id": "a", "split": "dev"},
        shared | {"question_id": "b", "split": "dev", "answerable": False, "answers": []},
        shared | {"question_id": "c", "split": "test"},
    ]
    rows = [
        ("z", "t0", 1, 9.0), ("d", "t0", 1, 9.0), ("c", "t0", 1, 9.0), ("a", "t0", 1, 0.0), ("b", "t0", 1, 1.0),
        ("a", "t1", 3, 5.0), ("b", "t1", 3, 6.0),
    ]  # fmt: skip
    columns = ("question_id", "trial_id", "end", "null_score")
    predictions = [dict(zip(columns, row, strict=True)) | {"start": 0} for row in rows]
    tables = (pa.Table.from_pylist(predictions), pa.Table.from_pylist(questions))
    # The first trial answers "x", which is right, the second "x y": F1 is 2/3 there, and at best no answer is given.
    oracle = best_with_hindsight(*tables, {"p": "x y"})
    assert oracle == {"dev": {"oracle_exact": 75.0, "oracle_f1": pytest.approx(100 * 11 / 12)}}
    # Two more questions that no trial has answered are wrong at any threshold.
    questions += [shared | {"question_id": name, "split": "dev"} for name in ("e", "f")]
    oracle = best_with_hindsight(tables[0], pa.Table.from_pylist(questions), {"p": "x y"})
    assert oracle == {"dev": {"oracle_exact": 37.5, "oracle_f1": pytest.approx(50 * 11 / 12)}}
