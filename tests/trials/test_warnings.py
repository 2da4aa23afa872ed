"""Each sign raises its alarm from its limit on, and none below it or where it is not known."""

import math

import pytest

from coattend.trials.warnings import CONSTANT, ERRONEOUS, FEW_STEPS, FEWEST, LOST, STUCK, TRUNCATED, UNKNOWN, alarms

GOOD = {
    "final_loss": 0.7,
    "chance_loss": math.log(3),
    "held_out_questions": FEWEST,
    "most_given": 0.4,
    "truncated_passages": 0.0,
    "lost_answers": 0.0,
    "err_tags": 0.12,
    "unknown_words": 0.02,
    "untrained_pooler": 0.0,
}
RAISED = {
    "final_loss": (STUCK * math.log(3), "learned next to nothing"),
    "most_given": (CONSTANT, "one and the same answer"),
    "truncated_passages": (TRUNCATED, "5.0 % of the passages are too long"),
    "lost_answers": (LOST, "1.0 % of the answers do not lie"),
    "err_tags": (ERRONEOUS, "25.0 % of the tokens have no tag but ERR"),
    "unknown_words": (UNKNOWN, "10.0 % of the words"),
}


def test_nothing_is_said_of_what_is_right():
    assert not list(alarms(GOOD))


@pytest.mark.parametrize("sign", RAISED)
def test_each_sign_raises_its_own_alarm_from_its_limit_on(sign):
    limit, message = RAISED[sign]
    (sentence,) = alarms(GOOD | {sign: limit})
    assert message in sentence
    assert not list(alarms(GOOD | {sign: limit * 0.999}))


def test_few_steps_are_named_with_the_settings_that_make_more_of_them():
    stuck = GOOD | {"final_loss": math.log(3)}
    _, cure = alarms(stuck | {"steps": 18.0})
    assert cure.startswith("18 steps are few: training.min_steps=200 and training.tokens_per_batch=1024")
    assert len(list(alarms(stuck | {"steps": FEW_STEPS}))) == 1
    assert not list(alarms(GOOD | {"steps": 18.0}))


def test_a_frozen_pooler_that_was_never_trained_is_told():
    (sentence,) = alarms(GOOD | {"untrained_pooler": 1.0})
    assert "frozen pooler that was never trained" in sentence


def test_what_is_not_known_raises_nothing():
    assert not list(alarms(dict.fromkeys(GOOD)))
    assert not list(alarms({}))
    assert not list(alarms(GOOD | {"final_loss": 5.0, "chance_loss": None}))


def test_few_questions_may_well_have_the_same_answer():
    assert not list(alarms(GOOD | {"most_given": 1.0, "held_out_questions": FEWEST - 1}))
