"""Trials that answer together: means of probabilities, votes, and a greedy choice that only keeps what helps."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from coattend.evaluation import ensembles, squad
from coattend.evaluation.alignment import Answers
from coattend.schemas import PREDICTIONS

SHARES = arrays(float, (4, 6, 3), elements=st.integers(1, 9).map(lambda tenth: tenth / 10))


def marks_of(correct):
    correct = np.array(correct, float)
    nothing = np.zeros(correct.shape)
    return Answers(correct=correct, f1=correct, empty=nothing > 0, null_score=nothing, missing=nothing > 0)


@given(SHARES, arrays(int, 6, elements=st.integers(0, 2)))
def test_options_are_chosen_by_their_mean_probability(shares, gold):
    joint = ensembles.by_probability(shares, gold)
    right, f1 = joint([0, 2, 3])
    for question in range(6):
        means = [sum(shares[trial][question][option] for trial in (0, 2, 3)) for option in range(3)]
        if len(set(means)) == 3 and min(np.diff(sorted(means))) > 1e-9:
            assert right[question] == (means.index(max(means)) == gold[question])
    assert (right == f1).all()


@given(st.lists(st.lists(st.sampled_from(["the cat", "cat", "dog", "a fox"]), min_size=5, max_size=5), min_size=2))
@settings(max_examples=50)
def test_spans_are_chosen_by_most_votes_and_among_equals_by_the_best_trial(texts):
    marks = marks_of([[text != "dog" for text in of_trial] for of_trial in texts])
    members = list(range(len(texts)))[::-1]
    right, _ = ensembles.by_vote(texts, marks)(members)
    for question in range(5):
        given_texts = [squad.normalise(texts[trial][question]) for trial in members]
        votes = max(given_texts.count(text) for text in given_texts)
        expected = next(text for text in given_texts if given_texts.count(text) == votes)
        assert right[question] == (expected != "dog")


def test_a_vote_takes_both_marks_of_whom_it_follows_and_compares_as_it_is_told():
    nothing = np.zeros((3, 1))
    f1 = np.array([[0.2], [0.4], [0.9]])
    marks = Answers(correct=f1 > 0.5, f1=f1, empty=nothing > 0, null_score=nothing, missing=nothing > 0)
    texts = [["a dog"], ["the cat"], ["cat"]]
    right, overlap = ensembles.by_vote(texts, marks)([2, 0, 1])
    assert (right.tolist(), overlap.tolist()) == ([True], [0.9])
    right, overlap = ensembles.by_vote(texts, marks)([0, 1, 2])
    assert (right.tolist(), overlap.tolist()) == ([False], [0.4])
    right, overlap = ensembles.by_vote(texts, marks, alike=str)([0, 1, 2])
    assert (right.tolist(), overlap.tolist()) == ([False], [0.2])


def test_a_question_without_an_answer_has_no_vote():
    marks = marks_of([[0], [0], [1]])
    right, _ = ensembles.by_vote([[None], [None], ["cat"]], marks)([0, 1, 2])
    assert right.tolist() == [1]


def test_the_greedy_choice_keeps_only_what_makes_the_others_better():
    correct = np.array([[1, 1, 0, 0], [0, 0, 0, 0], [0, 0, 1, 1]], float)
    probabilities = np.stack([0.5 + 0.3 * (correct - 0.5), 0.5 - 0.3 * (correct - 0.5)], -1)
    probabilities[1] = [0.5, 0.5]
    probabilities[2, 2:] = [0.99, 0.01]
    probabilities[2, :2] = [0.49, 0.51]
    joint, held_out = ensembles.by_probability(probabilities, np.zeros(4, int)), [0.9, 0.5, 0.7]
    average, greedy = ensembles.ensembles(joint, held_out, np.ones(4, bool))
    assert (average.method, average.trials) == ("average", (0, 2, 1))
    assert (greedy.method, greedy.trials) == ("greedy", (0, 2))
    assert greedy.correct.tolist() == greedy.f1.tolist() == [1, 1, 1, 1]
    judged_by_two = ensembles.ensembles(joint, held_out, np.array([True, True, False, False]))
    assert judged_by_two[-1].trials == (0,)
    assert [ensemble.method for ensemble in ensembles.ensembles(joint, held_out, None)] == ["average"]


def trials_as_marks(members):
    return np.array(members), np.array(members) / 10


def test_the_best_share_is_shown_where_it_leaves_a_trial_out():
    for count, share in [(1, None), (2, None), (3, None), (4, 3), (5, 4), (10, 7)]:
        held_out = [0.1 * index for index in range(count)]
        shown_ensembles = ensembles.ensembles(trials_as_marks, held_out, None)
        ranked = list(range(count))[::-1]
        expected = [("average", ranked)] + ([] if share is None else [("best share", ranked[:share])])
        assert [(ensemble.method, list(ensemble.trials)) for ensemble in shown_ensembles] == expected
        assert [ensemble.correct.tolist() for ensemble in shown_ensembles] == [trials for _, trials in expected]
        assert shown_ensembles[-1].f1.tolist() == [index / 10 for index in shown_ensembles[-1].trials]


def test_a_tie_is_wrong():
    joint = ensembles.by_probability(np.array([[[0.5, 0.5]], [[0.4, 0.6]]]), np.array([0]))
    assert [joint([0])[0].tolist(), joint([1])[0].tolist()] == [[0], [0]]
    assert ensembles.by_probability(np.array([[[0.5, 0.5]]]), np.array([1]))([0])[0].tolist() == [0]


@given(arrays(float, (1, 6, 3), elements=st.sampled_from([0.2, 0.4])), arrays(int, 6, elements=st.integers(0, 2)))
def test_one_trial_alone_chooses_the_options_that_it_chooses_itself(shares, gold):
    right, _ = ensembles.by_probability(shares, gold, first_of_ties=True)([0])
    assert right.tolist() == [scores.argmax() == label for scores, label in zip(shares[0], gold, strict=True)]


@pytest.mark.parametrize(("head", "expected"), [("options", [0.5, 0.5, 0.0]), ("word", [0.25, 0.75, 0.0])])
def test_scores_become_probabilities(head, expected):
    scores = [1.0, 1.0] if head == "options" else [0.2, 0.6]
    table = pa.table({"question_id": ["a", "b"], "trial_id": ["t", "t"], "scores": [scores, [0.0, 0.0, 1.0]]})
    probabilities = ensembles.of_options(table, pa.chunked_array([["a", "c"]]), ["t"], head)
    assert probabilities.shape == (1, 2, 3)
    assert probabilities[0, 0].tolist() == pytest.approx(expected)
    assert not probabilities[0, 1].any()


def test_candidates_without_any_mass_tie_and_the_least_of_mass_wins():
    table = pa.table({"question_id": ["a", "b"], "trial_id": ["t", "t"], "scores": [[0.0, 0.0], [1e-9, 0.0]]})
    joint = ensembles.by_probability(
        ensembles.of_options(table, pa.chunked_array([["a", "b"]]), ["t"], "word"), np.array([0, 0])
    )
    assert joint([0])[0].tolist() == [0, 1]


def test_without_an_answer_there_is_no_probability_and_nothing_is_right():
    probabilities = ensembles.of_options(
        PREDICTIONS.empty_table(), pa.chunked_array([["a", "b"]]), ["t", "s"], "options"
    )
    assert probabilities.tolist() == [[[0], [0]], [[0], [0]]]
    assert ensembles.by_probability(probabilities, np.array([0, 0]))([0, 1])[0].tolist() == [0, 0]
