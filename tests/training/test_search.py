"""Tuning a reader's training: how many configurations, which one is taken, and what is trained again."""

import logging

import pytest

from coattend.errors import CoattendError
from coattend.parameters import SearchParameters
from coattend.training.costs import cost_of
from coattend.training.fan_out import train_seeds
from coattend.training.search import best, configurations, tune

RATES = {"learning_rate": {"low": 1e-5, "high": 1e-3, "log": True}}


def search_of(trials, seed=0, **space):
    return SearchParameters(trials=trials, seed=seed, space=space)


def trained(store):
    return {file.parent.name: file.stat().st_mtime_ns for file in store.glob("*/outcome.json")}


def test_the_best_of_as_many_configurations_as_asked_is_taken_and_none_is_trained_twice(plan_for, tmp_path, caplog):
    plan, search = plan_for(), search_of(3, **RATES)
    assert cost_of(plan, tmp_path, search=search).trials == 3 + 1
    with caplog.at_level(logging.INFO, "coattend"):
        tuned, found = tune(plan, tmp_path, search, processes=1)
    tried = found["tried"]
    assert tried[0]["values"] == {"learning_rate": plan.training.learning_rate}
    assert len({one["trial_id"] for one in tried}) == 3
    assert trained(tmp_path).keys() == {one["trial_id"] for one in tried}
    best = tried[found["chosen"]]
    assert best["held_out"] == max(one["held_out"] for one in tried)
    assert tuned.training == plan.training.model_copy(update=best["values"])
    for place, one in enumerate(tried, 1):
        told = f"learning_rate {one['values']['learning_rate']:g}: held-out {100 * one['held_out']:.1f} %"
        assert f"sample.plain: configuration {place} of 3, {told}" in caplog.text

    # What a killed search lacks is all that is trained.
    lost = tried[-1]["trial_id"]
    (tmp_path / lost / "outcome.json").unlink()
    before = trained(tmp_path)
    assert tune(plan, tmp_path, search, processes=1) == (tuned, found)
    after = trained(tmp_path)
    assert before.items() <= after.items()
    assert after.keys() - before.keys() == {lost}

    assert cost_of(plan, tmp_path, search=search).trials == 1
    first, _ = train_seeds(tuned, tmp_path, processes=1)
    assert first["trial_id"] == best["trial_id"]
    assert len(trained(tmp_path)) == 3 + 1
    assert cost_of(plan, tmp_path, search=search).trials == 0


def test_a_configuration_that_fails_does_not_end_the_search(plan_for, tmp_path):
    search = search_of(3, learning_rate={"choices": [1e30, 1e-5]})
    _, found = tune(plan_for(), tmp_path, search, processes=2)
    failed = {one["values"]["learning_rate"]: one["failure"] for one in found["tried"] if one["held_out"] is None}
    assert failed.keys() == {1e30}
    assert "the loss became" in failed[1e30]
    assert found["tried"][found["chosen"]]["held_out"] is not None


def test_the_configured_one_is_taken_where_no_other_is_better():
    assert best([{"held_out": 0.5}, {"held_out": 0.5}, {"failure": "broken"}]) == 0
    assert best([{"failure": "broken"}, {"failure": "broken", "held_out": None}]) == 0
    assert best([{"failure": "broken"}, {"held_out": 0.0}]) == 1


def test_every_reader_has_the_same_configurations_and_more_of_them_begin_with_fewer(plan_for, recwarn, capfd):
    space = RATES | {"epochs": {"choices": [1, 2, 3]}, "accumulate": {"low": 1, "high": 4}}
    few = configurations(plan_for(), search_of(8, **space))
    assert configurations(plan_for("poi_net"), search_of(8, **space)) == few
    assert configurations(plan_for(), search_of(8, **dict(reversed(space.items())))) == few
    assert configurations(plan_for(), search_of(12, **space))[:8] == few
    assert configurations(plan_for(), search_of(8, seed=1, **space))[1:] != few[1:]
    for one in few[1:]:
        assert 1e-5 <= one["learning_rate"] <= 1e-3
        assert one["epochs"] in (1, 2, 3)
        assert one["accumulate"] in range(1, 5)
    assert not recwarn.list
    assert capfd.readouterr().err == ""


def test_a_small_space_is_tried_as_a_whole_and_nothing_twice(plan_for):
    space = {"patience": {"choices": [None, 2]}, "epochs": {"choices": [1, 2]}}
    found = configurations(plan_for(), search_of(4, **space))
    assert sorted(map(str, found)) == sorted(
        str({"epochs": epochs, "patience": patience}) for epochs in (1.0, 2.0) for patience in (None, 2)
    )


def test_a_search_never_chooses_on_dev(plan_for, tmp_path):
    with pytest.raises(CoattendError, match=r"plain on sample, training\.selection: is 'dev'"):
        tune(plan_for(selection="dev"), tmp_path, search_of(2, **RATES))
    assert not trained(tmp_path)
