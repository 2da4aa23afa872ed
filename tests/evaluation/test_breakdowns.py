"""Questions are divided by what they ask and how long things are; no question is in two groups, none is lost."""

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from coattend.evaluation import breakdowns

PASSAGES = {"p": "Ann met Bob . Bob met Cid . Bob slept", "q": "a short one"}


def table(**columns):
    count = len(next(iter(columns.values())))
    empty = {name: [None] * count for name in breakdowns.COLUMNS}
    return pa.table(empty | {"passage_id": ["p"] * count} | columns)


def test_the_first_question_word_is_what_is_asked_for():
    for question, group in [
        ("Who slept?", "who"),
        ("To whom did he speak?", "who"),
        ("Whose book is it?", "who"),
        ("In the end, what's for dinner?", "what"),
        ("How many are there?", "how"),
        ("In WHICH year?", "which"),
        ("The somewhat tired man is _ .", "other"),
        ("", "other"),
    ]:
        assert list(breakdowns.by_question_type(table(question=[question]), PASSAGES)) == [group]


def test_subsets_are_the_benchmarks_own_and_a_question_may_have_none():
    subsets = breakdowns.by_subset(table(subset=["high", "middle", None, "high"]), PASSAGES)
    assert {name: rows.tolist() for name, rows in subsets.items()} == {
        "high": [True, False, False, True],
        "middle": [False, True, False, False],
    }
    assert breakdowns.by_subset(table(subset=pa.nulls(2, pa.string())), PASSAGES) == {}


def test_the_right_candidates_rank_is_that_of_its_frequency():
    questions = table(options=[["Ann", "Bob", "Cid"]] * 3, label=[0, 1, 2])
    groups = breakdowns.by_answer_frequency(questions, PASSAGES)
    assert {name: rows.tolist() for name, rows in groups.items()} == {
        "rank 1": [False, True, False],
        "rank 2": [True, False, True],
    }


def test_the_shortest_gold_answer_counts_and_none_has_no_words():
    answers = [[{"text": "one two three"}, {"text": "one"}], []]
    groups = breakdowns.by_answer_length(table(answers=answers), PASSAGES)
    assert {name: rows.tolist() for name, rows in groups.items()} == {"0": [False, True], "1": [True, False]}


@given(st.lists(st.integers(0, 30), min_size=1, max_size=200))
def test_every_length_is_in_one_group_and_equal_ones_stay_together(lengths):
    questions = table(question=[" ".join(["word"] * length) for length in lengths])
    groups = breakdowns.by_question_length(questions, PASSAGES)
    assert 1 <= len(groups) <= 5
    assert (np.sum(list(groups.values()), 0) == 1).all()
    for rows in groups.values():
        inside = {length for length, is_member in zip(lengths, rows, strict=True) if is_member}
        outside = {length for length, is_member in zip(lengths, rows, strict=True) if not is_member}
        assert not inside & outside
        assert not any(min(inside) < length < max(inside) for length in outside)
