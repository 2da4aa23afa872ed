"""Metrics of a reader against counting them by hand."""

import numpy as np
import pytest
from scored import metrics, model, prediction, question

from coattend.errors import CoattendError
from coattend.evaluation.alignment import Answers
from coattend.evaluation.intervals import interval
from coattend.evaluation.summary import METRICS, answerability, by_name, marks

QUESTIONS_OF_TWO_SUBSETS = [
    question("a1", subset="high"),
    question("a2", subset="middle"),
    question("b1", subset="high"),
    question("c1", subset="middle", split="test"),
    question("d1", split="train"),
]


def test_accuracy_by_split_and_subset():
    answered = [prediction(name, "t0", name != "a1") for name in ("c1", "b1", "a2", "a1")]
    scored = metrics(answered, QUESTIONS_OF_TWO_SUBSETS, model(0))
    assert scored["unit"] == "percent"
    assert list(scored["splits"]) == ["dev", "test"]
    assert list(scored["splits"]["dev"]) == ["all", "high", "middle"]
    means = {name: group["accuracy"]["mean"] for name, group in scored["splits"]["dev"].items()}
    assert means == {"all": pytest.approx(200 / 3), "high": 50, "middle": 100}
    counts = scored["splits"]["dev"]["all"]
    assert [counts[name] for name in ("questions", "passages", "groups", "missing")] == [3, 2, 2, 0]
    expected = interval(np.array([[0.0, 1.0, 1.0]]), np.array([0, 0, 1]))
    assert (counts["accuracy"]["low"], counts["accuracy"]["high"]) == (100 * expected.low, 100 * expected.high)
    assert counts["accuracy"]["spread"] is None
    assert list(scored["splits"]["test"]) == ["all", "middle"]
    alone = scored["splits"]["dev"]["middle"]["accuracy"]
    assert (alone["low"], alone["high"], alone["seeds"]) == (None, None, {"0": 100})
    assert scored["question_types"] == {}
    method = "Korn and Graubard over groups of questions, and Student over seeds where there are several"
    assert scored["interval"] == {"method": method, "level": 0.95}


def test_a_metric_has_its_place_in_its_name():
    answered = [prediction(name, "t0", name != "a1") for name in ("c1", "b1", "a2", "a1")]
    scored = metrics(answered, QUESTIONS_OF_TWO_SUBSETS, model(0))
    means = {name: metric["mean"] for name, metric in by_name(scored)}
    assert means == {
        "dev.accuracy": pytest.approx(200 / 3),
        "dev.high.accuracy": 50,
        "dev.middle.accuracy": 100,
        "test.accuracy": 100,
        "test.middle.accuracy": 100,
    }


def test_both_ends_of_an_interval_are_in_percent():
    names = [f"{letter}1" for letter in "abcdefgh"]
    scored = metrics(
        [prediction(name, "t0", name < "e") for name in names], [question(name) for name in names], model(0)
    )
    accuracy = scored["splits"]["dev"]["all"]["accuracy"]
    assert 0 < accuracy["low"] < accuracy["mean"] == 50 < accuracy["high"] < 100
    expected = interval(np.array([[1.0] * 4 + [0.0] * 4]), np.arange(8))
    assert (accuracy["low"], accuracy["high"]) == (100 * expected.low, 100 * expected.high)


def test_seeds_have_their_own_numbers_a_mean_and_a_spread():
    answered = [prediction("a1", "t1", True), prediction("b1", "t1", True)]
    answered += [prediction("a1", "t7", True), prediction("b1", "t7", False)]
    scored = metrics(answered, [question("a1"), question("b1")], model(1, 7))
    accuracy = scored["splits"]["dev"]["all"]["accuracy"]
    assert accuracy["seeds"] == {"1": 100, "7": 50}
    assert accuracy["mean"] == 75
    assert accuracy["spread"] == pytest.approx(35.355, abs=0.001)


def test_a_missing_prediction_is_wrong_and_counted():
    scored = metrics([prediction("a1", "t0", True)], QUESTIONS_OF_TWO_SUBSETS, model(0, 1))
    assert scored["splits"]["dev"]["all"]["accuracy"]["mean"] == pytest.approx(100 / 6)
    answered = [prediction("a1", "t0", True), prediction("a1", "t1", True), prediction("a2", "t1", True)]
    group = metrics(answered, QUESTIONS_OF_TWO_SUBSETS, model(0, 1))["splits"]["dev"]["all"]
    # One has two answers, one has that of a seed, and one has none.
    assert (group["questions"], group["missing"]) == (3, 2)
    assert group["accuracy"]["mean"] == pytest.approx(100 / 2)


def test_what_is_not_scored_is_listed():
    hidden = question("e1", split="test", label=None)
    scored = metrics([prediction("a1", "t0", True)], [*QUESTIONS_OF_TWO_SUBSETS, hidden], model(0))
    assert list(scored["splits"]) == ["dev"]
    assert scored["not_scored"] == {"no gold answer is known": {"test": 1}, "no prediction was made": {"test": 1}}


def test_question_types_overlap():
    questions = [
        question("a1", question_types=["s", "l"]),
        question("b1", question_types=["s"]),
        question("c1", question_types=None),
    ]
    answered = [prediction("a1", "t0", True), prediction("b1", "t0", False), prediction("c1", "t0", False)]
    types = metrics(answered, questions, model(0))["question_types"]["dev"]
    assert {name: (group["questions"], group["accuracy"]["mean"]) for name, group in types.items()} == {
        "l": (1, 100),
        "s": (2, 50),
    }


def test_spans():
    span = {"task": "span", "options": None, "label": None}
    answers = [{"text": "x", "start": 0}]
    questions = [
        question("a1", answers=answers, **span),
        question("b1", answers=answers, **span),
        question("c1", answers=[], **(span | {"answerable": False})),
        question("d1"),
    ]
    answered = [
        prediction("a1", "t0", True, null_score=0.0, start=0, end=1),
        prediction("b1", "t0", False, f1=2 / 3, null_score=3.0, start=0, end=3),
        prediction("c1", "t0", True, prediction="", null_score=2.0, start=2, end=3),
    ]
    group = metrics(answered, questions, model(0, task="span"))["splits"]["dev"]["all"]
    assert group["questions"] == 3
    assert group["exact"]["mean"] == pytest.approx(200 / 3)
    assert group["f1"]["mean"] == pytest.approx(800 / 9)
    assert group["has_answer_f1"]["mean"] == pytest.approx(250 / 3)
    assert group["has_answer_exact"]["mean"] == pytest.approx(50)
    assert group["no_answer_exact"]["mean"] == group["no_answer_f1"]["mean"] == pytest.approx(100)
    # With hindsight: answer a1 alone for both, as b1's span is only partly right and c1 comes before it.
    assert group["oracle_exact"] == pytest.approx(200 / 3)
    assert group["oracle_f1"] == pytest.approx(200 / 3)
    assert group["no_answer_share"] == pytest.approx(100 / 3)
    assert group["answerable"] == 2
    assert group["answerability_auroc"] == 50


NAMES = [f"{letter}{number}" for letter in "abcdef" for number in (1, 2)]


def test_passages_that_overlap_are_drawn_together():
    questions = [question(name, group="chapter 1" if name[0] in "ab" else f"chapter {name[0]}") for name in NAMES]
    answered = [prediction(name, "t0", name[0] in "abc") for name in NAMES]
    counts = metrics(answered, questions, model(0))["splits"]["dev"]["all"]
    assert (counts["passages"], counts["groups"]) == (6, 5)
    values = np.array([[float(name[0] in "abc") for name in NAMES]])
    expected = interval(values, np.array([max("abcdef".index(name[0]), 1) for name in NAMES]))
    assert counts["accuracy"]["low"] == 100 * expected.low
    alone = [row | {"group": "chapter 1"} for row in questions]
    assert metrics(answered, alone, model(0))["splits"]["dev"]["all"]["accuracy"]["low"] is None


def test_intervals_of_spans_are_over_passages():
    # Two questions of each passage; those of one passage are both right or both wrong.
    names = [f"{letter}{number}" for letter in "abcdefghijkl" for number in (1, 2)]
    span = {"task": "span", "options": None, "label": None}
    # Every third passage has no answer to its questions.
    without = set("cfil")
    questions = [
        question(name, answers=[] if name[0] in without else [{"text": "x", "start": 0}], **span)
        | {"answerable": name[0] not in without}
        for name in names
    ]
    right = np.array([name[0] in "abcdef" for name in names])
    f1 = np.where(right, 1.0, 0.25)
    answered = [
        prediction(name, "t0", bool(correct), f1=float(score), null_score=0.0, start=0, end=1)
        for name, correct, score in zip(names, right, f1, strict=True)
    ]
    group = metrics(answered, questions, model(0, task="span"))["splits"]["dev"]["all"]
    passages = np.repeat(np.arange(12), 2)
    rows = {"": slice(None), "has_answer_": np.array([name[0] not in without for name in names])}
    rows["no_answer_"] = ~rows["has_answer_"]
    for part, subset in rows.items():
        for metric, values in (("exact", right.astype(float)), ("f1", f1)):
            expected = interval(values[subset][np.newaxis], np.unique(passages[subset], return_inverse=True)[1])
            measured = group[f"{part}{metric}"]
            assert (measured["low"], measured["high"]) == pytest.approx((100 * expected.low, 100 * expected.high))


def test_where_all_questions_have_an_answer_there_is_nothing_to_tell_apart():
    span = {"task": "span", "options": None, "label": None, "answers": [{"text": "x", "start": 0}]}
    answered = [prediction(name, "t0", True, null_score=0.0, start=0, end=1) for name in ("a1", "b1")]
    questions = [question("a1", **span), question("b1", **span)]
    group = metrics(answered, questions, model(0, task="span"))["splits"]["dev"]["all"]
    assert not [name for name in group if name.startswith(("has_answer", "no_answer_exact", "no_answer_f1"))]
    assert (group["answerable"], group["no_answer_share"], group["answerability_auroc"]) == (2, 0, None)


def answers(null_scores, correct=0.0, f1=0.0):
    scores = np.array(null_scores)
    nothing = np.zeros(scores.shape)
    return Answers(nothing + correct, nothing + f1, nothing > 0, scores, nothing > 0)


def test_answerability_is_the_mean_over_seeds_of_what_has_a_score():
    answer_arrays = answers([[0.0, 1.0, 2.0, np.nan], [2.0, 1.0, 1.0, 0.0]])
    assert answerability(answer_arrays, np.array([True, True, False, False])) == pytest.approx((100 + 12.5) / 2)
    assert answerability(answer_arrays, np.array([True, True, True, True])) is None
    assert answerability(answer_arrays, np.array([True, True, True, False])) is None


def test_each_metric_is_the_mean_of_its_own_marks():
    answer_arrays = answers([[0.0]], correct=1.0, f1=0.5)
    values = {task: [marks(answer_arrays, metric).item() for metric in metrics] for task, metrics in METRICS.items()}
    assert values == {"options": [1.0], "word": [1.0], "span": [1.0, 0.5]}


def test_a_failed_trial_has_no_part_but_stays_in_the_list():
    trained = model(0, 1, failure="CoattendError: the loss became nan")
    scored = metrics([prediction("a1", "t1", True)], [question("a1")], trained)
    assert scored["splits"]["dev"]["all"]["accuracy"]["seeds"] == {"1": 100}
    assert [trial["failure"] for trial in scored["trials"]] == ["CoattendError: the loss became nan", None]
    assert "folder" not in scored["trials"][0]


def test_a_reader_that_failed_altogether_has_no_scores():
    scored = metrics([], [question("a1")], model(0, failure="out of memory"))
    assert scored["splits"] == {}


def test_predictions_that_do_not_belong_are_refused():
    for answered, problem in [
        ([prediction("a1", "old", True)], "predictions of trial old"),
        ([prediction("a1", "t0", True), prediction("a1", "t0", False)], "question a1: one trial answers it more than"),
    ]:
        with pytest.raises(CoattendError, match=problem):
            metrics(answered, [question("a1")], model(0))
