"""Probabilities from scores, calibration and risk against coverage, against their definitions and scikit-learn."""

import math
from fractions import Fraction
from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scored import metrics, model, prediction, question

from coattend.evaluation.calibration import (
    BINS,
    at_coverages,
    error_by_chance,
    log_probabilities,
    probabilities,
    reliability,
    risks,
)

NUMBERS = st.lists(st.integers(-40, 40).map(lambda n: n / 8), min_size=1, max_size=8)
CONFIDENCE = st.one_of(st.sampled_from([0.25, 0.5, 0.75, 1.0]), st.floats(0, 1, width=32))
QUESTIONS = st.lists(st.tuples(CONFIDENCE, st.booleans()), min_size=1, max_size=60)
DEV = [question(name) for name in ("a1", "a2", "b1", "b2")]


# Probabilities from scores: the head that gave them decides, never their range.


@given(NUMBERS)
def test_logits_are_softmaxed(logits):
    total = math.fsum(math.exp(logit) for logit in logits)
    np.testing.assert_allclose(probabilities(logits, "options"), [math.exp(logit) / total for logit in logits])
    np.testing.assert_allclose(probabilities(np.add(logits, 800), "vocabulary"), probabilities(logits, "options"))


@given(st.lists(st.floats(0.01, 1), min_size=1, max_size=8))
def test_masses_are_shares_of_what_the_candidates_have(masses):
    np.testing.assert_allclose(probabilities(masses, "word"), np.divide(masses, sum(masses)))
    np.testing.assert_allclose(np.exp(log_probabilities(masses, "word")), probabilities(masses, "word"))


def test_masses_and_logits_that_look_alike_are_told_apart_by_their_head():
    assert probabilities([0.25, 0.75], "word").tolist() == pytest.approx([0.25, 0.75])
    assert probabilities([0.25, 0.75], "vocabulary")[1] == pytest.approx(1 / (1 + math.exp(-0.5)))


def test_where_no_candidate_has_any_mass_none_is_likelier():
    assert probabilities([0.0, 0.0, 0.5], "word").tolist() == pytest.approx([0, 0, 1])
    assert probabilities([0.0, 0.0], "word").tolist() == pytest.approx([0.5, 0.5])
    assert log_probabilities([0.5, 0.0], "word", least=0.1).tolist() == pytest.approx(
        [math.log(5 / 6), math.log(1 / 6)]
    )


# Calibration error and risk, against plain implementations of their definitions.


def arrays(questions):
    sure, right = zip(*questions, strict=True)
    return np.array(sure, float), np.array(right, float)


def plain_sizes(count):
    """Bins of equal mass: as equal as can be, the greater ones first."""
    bins = min(BINS, count)
    return [count // bins + (index < count % bins) for index in range(bins)]


def plain_accuracy(questions):
    """Average the correctness of the answers whose confidence equals each answer's own."""
    return {
        sure: Fraction(sum(right for s, right in questions if s == sure), sum(s == sure for s, _ in questions))
        for sure, _ in questions
    }


def plain_error(questions):
    worth, ranked, error = plain_accuracy(questions), sorted(sure for sure, _ in questions), 0.0
    for size in plain_sizes(len(questions)):
        group, ranked = ranked[:size], ranked[size:]
        error += abs(sum(group) - float(sum(worth[sure] for sure in group)))
    return error / len(questions)


def plain_risks(questions):
    worth = plain_accuracy(questions)
    ranked = sorted((sure for sure, _ in questions), reverse=True)
    return [float(1 - sum(worth[sure] for sure in ranked[:k]) / k) for k in range(1, len(ranked) + 1)]


@given(QUESTIONS)
def test_the_calibration_error_is_that_of_its_definition(questions):
    bins = reliability(*arrays(questions))
    assert bins.questions.tolist() == plain_sizes(len(questions))
    assert bins.error == pytest.approx(plain_error(questions), abs=1e-12)
    assert np.all(np.diff(bins.confidence) >= -1e-12)
    assert bins.accuracy @ bins.questions == pytest.approx(sum(right for _, right in questions))


@given(QUESTIONS, st.randoms())
def test_the_order_of_questions_plays_no_part(questions, random):
    mixed = random.sample(questions, len(questions))
    assert reliability(*arrays(mixed)).error == pytest.approx(reliability(*arrays(questions)).error, abs=1e-12)
    assert risks(*arrays(mixed)) == pytest.approx(risks(*arrays(questions)), abs=1e-12)


@given(QUESTIONS)
def test_risks_are_those_of_the_definition(questions):
    curve = risks(*arrays(questions))
    assert curve == pytest.approx(plain_risks(questions), abs=1e-12)
    assert curve[-1] == pytest.approx(1 - sum(right for _, right in questions) / len(questions))


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from([0.3, 0.6]), st.booleans()), min_size=1, max_size=6))
def test_equally_sure_answers_have_the_mean_risk_of_all_their_orders(questions):
    orders = [
        [1 - np.mean([right for _, right in order[:k]]) for k in range(1, len(order) + 1)]
        for order in permutations(questions)
        if all(before[0] >= after[0] for before, after in pairwise(order))
    ]
    assert risks(*arrays(questions)) == pytest.approx(np.mean(orders, axis=0), abs=1e-12)


@given(QUESTIONS, st.integers(1, 100))
def test_the_curve_goes_through_the_risks_and_lies_between_them(questions, percent):
    curve, count = risks(*arrays(questions)), len(questions)
    shares = np.arange(1, count + 1) / count
    assert at_coverages(curve, shares) == pytest.approx(curve, abs=1e-9)
    answered = percent / 100 * count
    below = math.floor(answered)
    errors = [0.0, *(curve * np.arange(1, count + 1)), 0.0]
    expected = (errors[below] + (answered - below) * (errors[below + 1] - errors[below])) / answered
    assert at_coverages(curve, np.array([percent / 100]))[0] == pytest.approx(expected, abs=1e-9)


@settings(deadline=None)
@given(st.integers(1, 6), st.randoms(use_true_random=False))
def test_bins_are_scikit_learns_quantiles(per_bin, random):
    """It bins by quantiles: the same bins where no two questions are equally sure and bins hold equally many."""
    sklearn_calibration = pytest.importorskip("sklearn.calibration")
    sure = np.array(random.sample(range(1, 10_000), BINS * per_bin)) / 10_000
    right = np.array([float(random.random() < share) for share in sure])
    accuracy, confidence = sklearn_calibration.calibration_curve(right, sure, n_bins=BINS, strategy="quantile")
    bins = reliability(sure, right)
    assert bins.confidence == pytest.approx(confidence)
    assert bins.accuracy == pytest.approx(accuracy)
    assert bins.error == pytest.approx(np.mean(np.abs(accuracy - confidence)))


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 40), st.booleans()), min_size=2, max_size=60))
def test_risks_are_one_less_scikit_learns_precision(questions):
    """The precision of "it is right" at the threshold of each distinct confidence."""
    sklearn_metrics = pytest.importorskip("sklearn.metrics")
    sure, right = arrays(questions)
    if not right.any():
        return
    precision, _, thresholds = sklearn_metrics.precision_recall_curve(right, sure)
    curve = risks(sure, right)
    for value, threshold in zip(precision, thresholds, strict=False):
        assert 1 - curve[int((sure >= threshold).sum()) - 1] == pytest.approx(value)


def test_the_error_by_chance_is_that_of_readers_whose_confidence_is_right():
    chance = np.random.default_rng(0)
    sure = chance.uniform(0.3, 1, 800)
    drawn = [reliability(sure, (chance.random(800) < sure).astype(float)).error for _ in range(400)]
    assert error_by_chance(sure) == pytest.approx(np.mean(drawn), rel=0.05)


def test_a_perfect_reader_has_no_error_and_no_risk():
    bins = reliability(np.ones(30), np.ones(30))
    assert bins.error == 0
    assert risks(np.ones(30), np.ones(30)).max() == 0
    assert error_by_chance(np.ones(30)) == 0


# Confidence of trials, from their predictions to the metrics of a reader.


def answered(scores, trial="t0"):
    """Predictions of options; the first option is the right one."""
    return [
        prediction(name, trial, row[0] == max(row), label=row.index(max(row)), scores=row)
        for name, row in scores.items()
    ]


def test_options_are_chosen_with_the_softmax_of_their_scores():
    scores = {"a1": [2.0, 0.0], "a2": [0.0, 1.0], "b1": [3.0, 0.0], "b2": [0.0, 4.0]}
    scored = metrics(answered(scores), DEV, model(0))
    sure = {name: 1 / (1 + math.exp(-abs(row[0] - row[1]))) for name, row in scores.items()}
    right = {"a1": 1, "a2": 0, "b1": 1, "b2": 0}
    of_split = scored["calibration"]["dev"]
    error = sum(abs(sure[name] - right[name]) for name in sure) / 4
    expected = pytest.approx(100 * error)
    assert of_split["ece"] == {"mean": expected, "low": None, "high": None, "spread": None, "seeds": {"0": expected}}
    by_chance = sum(math.sqrt(2 / math.pi * probability * (1 - probability)) for probability in sure.values()) / 4
    assert of_split["ece_by_chance"]["mean"] == pytest.approx(100 * by_chance)
    assert of_split["confidence"]["mean"] == pytest.approx(25 * sum(sure.values()))
    # From the surest: b2 wrong, b1 right, a1 right, a2 wrong.
    assert of_split["aurc"]["mean"] == pytest.approx(25 * (1 + 1 / 2 + 1 / 3 + 2 / 4))
    assert of_split["aurc_at_best"]["mean"] == pytest.approx(25 * (0 + 0 + 1 / 3 + 2 / 4))
    curve = of_split["risk_coverage"]["0"]
    assert curve["coverage"] == list(range(1, 101))
    assert [curve["risk"][percent - 1] for percent in (1, 25, 50, 75, 100)] == [100, 100, 50, 33.3333, 50]
    bins = [(group["questions"], group["confidence"], group["accuracy"]) for group in of_split["reliability"]["0"]]
    assert bins == [(1, 73.1059, 0), (1, 88.0797, 100), (1, 95.2574, 100), (1, 98.2014, 0)]
    assert scored["splits"]["dev"]["all"]["ece"] == of_split["ece"]


def test_a_word_is_chosen_with_its_share_of_the_candidates():
    words = [row | {"task": "word"} for row in DEV[:2]]
    scored = metrics(answered({"a1": [0.3, 0.1], "a2": [0.2, 0.0]}), words, model(0, task="word"))
    assert scored["calibration"]["dev"]["confidence"]["mean"] == pytest.approx(100 * (0.75 + 1) / 2, abs=1e-3)
    # Logits that could pass for masses.
    logits = metrics(answered({"a1": [1.0, 0.0], "a2": [0.5, 0.5]}), words, model(0, task="word", head="vocabulary"))
    expected = 100 * (1 / (1 + math.exp(-1)) + 0.5) / 2
    assert logits["calibration"]["dev"]["confidence"]["mean"] == pytest.approx(expected)


def test_a_missing_answer_is_wrong_and_comes_last():
    calibration = metrics(answered({"a1": [2.0, 0.0], "a2": [1.0, 0.0]}), DEV, model(0))["calibration"]["dev"]
    assert calibration["aurc"]["mean"] == pytest.approx(25 * (0 + 0 + 1 / 3 + 2 / 4))
    assert sum(reliable["questions"] for reliable in calibration["reliability"]["0"]) == 2


def test_each_seed_has_its_own_numbers():
    answers = answered({"a1": [2.0, 0.0], "a2": [1.0, 0.0]}) + answered({"a1": [0.0, 2.0], "a2": [0.0, 3.0]}, "t5")
    calibration = metrics(answers, DEV[:2], model(0, 5))["calibration"]["dev"]
    assert (
        set(calibration["reliability"])
        == set(calibration["risk_coverage"])
        == set(calibration["aurc"]["seeds"])
        == {"0", "5"}
    )
    assert calibration["aurc"]["seeds"] == {"0": 0, "5": 100}
    assert calibration["aurc"]["mean"] == 50
    assert calibration["aurc"]["spread"] == pytest.approx(70.71, abs=0.01)


def test_splits_are_apart_and_training_questions_have_no_part():
    questions = [*DEV, question("c1", split="test"), question("d1", split="train")]
    scores = {name: [1.0, 0.0] for name in ("a1", "a2", "b1", "b2", "c1", "d1")}
    calibration = metrics(answered(scores), questions, model(0))["calibration"]
    assert {
        split: sum(b["questions"] for b in of_split["reliability"]["0"]) for split, of_split in calibration.items()
    } == {
        "dev": 4,
        "test": 1,
    }


def test_without_scores_there_is_nothing_to_say():
    assert metrics([prediction("a1", "t0", True)], DEV, model(0))["calibration"] == {}
    half = [*answered({"a1": [1.0, 0.0]}), prediction("a1", "t1", True)]
    scored = metrics(half, DEV, model(0, 1))
    assert scored["calibration"] == {}
    assert "ece" not in scored["splits"]["dev"]["all"]


def test_a_span_is_answered_with_its_probability_and_no_answer_with_its_own():
    span = {"task": "span", "options": None, "label": None, "answers": [{"text": "x", "start": 0}]}
    nothing = span | {"answers": [], "answerable": False}
    questions = [question("a1", **span), question("a2", **span), question("b1", **nothing)]
    span_scores = {"null_score": 0.0, "start": 0, "end": 1}
    rows = [
        prediction("a1", "t0", True, prediction="x", scores=[0.5, 0.25], **span_scores),
        prediction("a2", "t0", False, prediction="y", scores=[0.25, 0.125], **span_scores),
        prediction("b1", "t0", True, prediction="", scores=[0.125, 0.75], **span_scores),
    ]
    scored = metrics(rows, questions, model(0, task="span"))
    of_split = scored["calibration"]["dev"]
    assert of_split["confidence"]["mean"] == pytest.approx(50)
    assert of_split["ece"]["mean"] == pytest.approx(100 * (0.5 + 0.25 + 0.25) / 3)
    assert of_split["risk_coverage"]["0"]["risk"][-1] == pytest.approx(100 / 3, abs=1e-3)
    assert scored["splits"]["dev"]["all"]["ece"] == of_split["ece"]
