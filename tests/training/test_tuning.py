"""Tuning a reader's training: how many configurations, which one is taken, and what is trained again."""

import logging

import pytest

from coattend.config import SearchParameters
from coattend.errors import CoattendError
from coattend.training.launcher import train_seeds
from coattend.training.run_trial import TrialRunner
from coattend.training.study_cost import cost_of
from coattend.training.tuning import best_index, configurations, tune

RATES = {"learning_rate": {"low": 1e-5, "high": 1e-3, "log": True}}


def search_of(trials, seed=0, **space):
    return SearchParameters(trials=trials, seed=seed, space=space)


def trained(store):
    return {file.parent.name: file.stat().st_mtime_ns for file in store.glob("*/outcome.json")}


def test_the_best_of_as_many_configurations_as_asked_is_taken_and_none_is_trained_twice(
    experiment_for, tmp_path, caplog
):
    experiment, search = experiment_for(), search_of(3, **RATES)
    assert cost_of(experiment, tmp_path, search=search)["trials"] == 3 + 1
    with caplog.at_level(logging.INFO, "coattend"):
        tuned, outcome = tune(TrialRunner.of(experiment, tmp_path), search, processes=1)
    tried = outcome["tried"]
    assert tried[0]["values"] == {"learning_rate": experiment.training.learning_rate}
    assert len({trial["trial_id"] for trial in tried}) == 3
    assert trained(tmp_path).keys() == {trial["trial_id"] for trial in tried}
    best_index = tried[outcome["chosen"]]
    assert best_index["held_out"] == max(trial["held_out"] for trial in tried)
    assert tuned.experiment.training == experiment.training.model_copy(update=best_index["values"])
    for number, trial in enumerate(tried, 1):
        message = f"learning_rate {trial['values']['learning_rate']:g}: held-out {100 * trial['held_out']:.1f} %"
        assert f"sample.plain: configuration {number} of 3, {message}" in caplog.text

    # What a killed search lacks is all that is trained.
    lost = tried[-1]["trial_id"]
    (tmp_path / lost / "outcome.json").unlink()
    before = trained(tmp_path)
    again, found = tune(TrialRunner.of(experiment, tmp_path), search, processes=1)
    assert (again.experiment, found) == (tuned.experiment, outcome)
    after = trained(tmp_path)
    assert before.items() <= after.items()
    assert after.keys() - before.keys() == {lost}

    assert cost_of(experiment, tmp_path, search=search)["trials"] == 1
    first, _ = train_seeds(tuned, processes=1)
    assert first["trial_id"] == best_index["trial_id"]
    assert len(trained(tmp_path)) == 3 + 1
    assert cost_of(experiment, tmp_path, search=search)["trials"] == 0


@pytest.mark.parametrize("processes", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_configuration_that_fails_does_not_end_the_search(experiment_for, tmp_path, processes):
    search = search_of(3, learning_rate={"choices": [1e30, 1e-5]})
    _, outcome = tune(TrialRunner.of(experiment_for(), tmp_path), search, processes=processes)
    failed = {
        trial["values"]["learning_rate"]: trial["failure"] for trial in outcome["tried"] if trial["held_out"] is None
    }
    assert failed.keys() == {1e30}
    assert "the loss became" in failed[1e30]
    assert outcome["tried"][outcome["chosen"]]["held_out"] is not None


def test_the_configured_one_is_taken_where_no_other_is_better():
    assert best_index([0.5, 0.5, None]) == 0
    assert best_index([None, None]) == 0
    assert best_index([None, 0.0]) == 1


def test_every_reader_has_the_same_configurations_and_more_of_them_begin_with_fewer(experiment_for, recwarn, capfd):
    space = RATES | {"epochs": {"choices": [1, 2, 3]}, "accumulate": {"low": 1, "high": 4}}
    eight = configurations(experiment_for(), search_of(8, **space))
    assert configurations(experiment_for("poi_net"), search_of(8, **space)) == eight
    assert configurations(experiment_for(), search_of(8, **dict(reversed(space.items())))) == eight
    assert configurations(experiment_for(), search_of(12, **space))[:8] == eight
    assert configurations(experiment_for(), search_of(8, seed=1, **space))[1:] != eight[1:]
    for configuration in eight[1:]:
        assert 1e-5 <= configuration["learning_rate"] <= 1e-3
        assert configuration["epochs"] in (1, 2, 3)
        assert configuration["accumulate"] in range(1, 5)
    assert not recwarn.list
    assert capfd.readouterr().err == ""


def test_a_small_space_is_tried_as_a_whole_and_nothing_twice(experiment_for):
    space = {"patience": {"choices": [None, 2]}, "epochs": {"choices": [1, 2]}}
    combinations = configurations(experiment_for(), search_of(4, **space))
    assert sorted(map(str, combinations)) == sorted(
        str({"epochs": epochs, "patience": patience}) for epochs in (1.0, 2.0) for patience in (None, 2)
    )


def test_a_search_never_chooses_on_dev(experiment_for, tmp_path):
    with pytest.raises(CoattendError, match=r"plain on sample, training\.selection: is 'dev'"):
        tune(TrialRunner.of(experiment_for(selection="dev"), tmp_path), search_of(2, **RATES))
    assert not trained(tmp_path)
