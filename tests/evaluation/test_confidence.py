"""How sure trials are, from a predictions table, beside readings by hand."""

import math

import pytest
from scored import metrics, model, prediction, question

DEV = [question(name) for name in ("a1", "a2", "b1", "b2")]


def answered(scores, trial="t0"):
    """Predictions of options; the first option is the right one."""
    return [
        prediction(name, trial, row[0] == max(row), label=row.index(max(row)), scores=row)
        for name, row in scores.items()
    ]


def test_options_are_chosen_with_the_softmax_of_their_scores():
    scores = {"a1": [2.0, 0.0], "a2": [0.0, 1.0], "b1": [3.0, 0.0], "b2": [0.0, 4.0]}
    found = metrics(answered(scores), DEV, model(0))
    sure = {name: 1 / (1 + math.exp(-abs(row[0] - row[1]))) for name, row in scores.items()}
    right = {"a1": 1, "a2": 0, "b1": 1, "b2": 0}
    of_split = found["calibration"]["dev"]
    error = sum(abs(sure[name] - right[name]) for name in sure) / 4
    expected = pytest.approx(100 * error)
    assert of_split["ece"] == {"mean": expected, "low": None, "high": None, "spread": None, "seeds": {"0": expected}}
    by_chance = sum(math.sqrt(2 / math.pi * one * (1 - one)) for one in sure.values()) / 4
    assert of_split["ece_by_chance"]["mean"] == pytest.approx(100 * by_chance)
    assert of_split["confidence"]["mean"] == pytest.approx(25 * sum(sure.values()))
    # From the surest: b2 wrong, b1 right, a1 right, a2 wrong.
    assert of_split["aurc"]["mean"] == pytest.approx(25 * (1 + 1 / 2 + 1 / 3 + 2 / 4))
    assert of_split["aurc_at_best"]["mean"] == pytest.approx(25 * (0 + 0 + 1 / 3 + 2 / 4))
    curve = of_split["risk_coverage"]["0"]
    assert curve["coverage"] == list(range(1, 101))
    assert [curve["risk"][percent - 1] for percent in (1, 25, 50, 75, 100)] == [100, 100, 50, 33.3333, 50]
    bins = [(one["questions"], one["confidence"], one["accuracy"]) for one in of_split["reliability"]["0"]]
    assert bins == [(1, 73.1059, 0), (1, 88.0797, 100), (1, 95.2574, 100), (1, 98.2014, 0)]
    assert found["splits"]["dev"]["all"]["ece"] == of_split["ece"]


def test_a_word_is_chosen_with_its_share_of_the_candidates():
    words = [one | {"task": "word"} for one in DEV[:2]]
    found = metrics(answered({"a1": [0.3, 0.1], "a2": [0.2, 0.0]}), words, model(0, task="word"))
    assert found["calibration"]["dev"]["confidence"]["mean"] == pytest.approx(100 * (0.75 + 1) / 2, abs=1e-3)
    # Logits that could pass for masses.
    logits = metrics(answered({"a1": [1.0, 0.0], "a2": [0.5, 0.5]}), words, model(0, task="word", head="vocabulary"))
    expected = 100 * (1 / (1 + math.exp(-1)) + 0.5) / 2
    assert logits["calibration"]["dev"]["confidence"]["mean"] == pytest.approx(expected)


def test_a_missing_answer_is_wrong_and_comes_last():
    found = metrics(answered({"a1": [2.0, 0.0], "a2": [1.0, 0.0]}), DEV, model(0))["calibration"]["dev"]
    assert found["aurc"]["mean"] == pytest.approx(25 * (0 + 0 + 1 / 3 + 2 / 4))
    assert sum(one["questions"] for one in found["reliability"]["0"]) == 2


def test_each_seed_has_its_own_numbers():
    both = answered({"a1": [2.0, 0.0], "a2": [1.0, 0.0]}) + answered({"a1": [0.0, 2.0], "a2": [0.0, 3.0]}, "t5")
    found = metrics(both, DEV[:2], model(0, 5))["calibration"]["dev"]
    assert set(found["reliability"]) == set(found["risk_coverage"]) == set(found["aurc"]["seeds"]) == {"0", "5"}
    assert found["aurc"]["seeds"] == {"0": 0, "5": 100}
    assert found["aurc"]["mean"] == 50
    assert found["aurc"]["spread"] == pytest.approx(70.71, abs=0.01)


def test_splits_are_apart_and_training_questions_have_no_part():
    questions = [*DEV, question("c1", split="test"), question("d1", split="train")]
    scores = {name: [1.0, 0.0] for name in ("a1", "a2", "b1", "b2", "c1", "d1")}
    found = metrics(answered(scores), questions, model(0))["calibration"]
    assert {split: sum(b["questions"] for b in one["reliability"]["0"]) for split, one in found.items()} == {
        "dev": 4,
        "test": 1,
    }


def test_without_scores_there_is_nothing_to_say():
    assert metrics([prediction("a1", "t0", True)], DEV, model(0))["calibration"] == {}
    half = [*answered({"a1": [1.0, 0.0]}), prediction("a1", "t1", True)]
    found = metrics(half, DEV, model(0, 1))
    assert found["calibration"] == {}
    assert "ece" not in found["splits"]["dev"]["all"]


def test_a_span_is_answered_with_its_probability_and_no_answer_with_its_own():
    span = {"task": "span", "options": None, "label": None, "answers": [{"text": "x", "start": 0}]}
    nothing = span | {"answers": [], "answerable": False}
    asked = [question("a1", **span), question("a2", **span), question("b1", **nothing)]
    place = {"null_score": 0.0, "start": 0, "end": 1}
    given = [
        prediction("a1", "t0", True, prediction="x", scores=[0.5, 0.25], **place),
        prediction("a2", "t0", False, prediction="y", scores=[0.25, 0.125], **place),
        prediction("b1", "t0", True, prediction="", scores=[0.125, 0.75], **place),
    ]
    found = metrics(given, asked, model(0, task="span"))
    of_split = found["calibration"]["dev"]
    assert of_split["confidence"]["mean"] == pytest.approx(50)
    assert of_split["ece"]["mean"] == pytest.approx(100 * (0.5 + 0.25 + 0.25) / 3)
    assert of_split["risk_coverage"]["0"]["risk"][-1] == pytest.approx(100 / 3, abs=1e-3)
    assert found["splits"]["dev"]["all"]["ece"] == of_split["ece"]
