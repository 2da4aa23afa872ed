"""Checkpoints of readers that use a weight in several places, and the learning rate by step."""

from dataclasses import replace

import pytest
from safetensors.torch import load_file

from coattend.inference.predict import predict_all
from coattend.training import events
from coattend.training.run_trial import TrialRunner
from experiments import train_reader


class Rates:
    """Keeps the learning rates of a training by step."""

    def __init__(self):
        self.by_step = {}

    def trial_started(self, trial):
        pass

    def trial_logged(self, trial_id, step, values):
        self.by_step |= {step: values["learning_rate"]} if "learning_rate" in values else {}

    def trial_ended(self, trial_id, outcome):
        pass


@pytest.mark.parametrize("schedule", ["linear", "constant"])
def test_behind_its_warm_up_the_rate_falls_to_the_end_or_stays(schedule, experiment_for, tmp_path, monkeypatch):
    rates = Rates()
    monkeypatch.setattr(events, "listeners", [rates])
    training = {"tokens_per_batch": 64, "evaluations": 8, "learning_rate": 1e-3, "warmup": 0.25}
    TrialRunner.of(experiment_for(schedule=schedule, **training), tmp_path).attempt(3)
    # Eight questions, each a batch: the rate of a step is that after the steps before it.
    assert rates.by_step.keys() == set(range(1, 9))
    for step, rate in rates.by_step.items():
        taken = step - 1
        behind = 1.0 if schedule == "constant" else (8 - taken) / 6
        assert rate == pytest.approx(1e-3 * (taken / 2 if taken < 2 else behind))


def test_shared_weights_are_trained_and_saved(experiment_for, tmp_path):
    """One checkpoint of two is the best, and its weights come back before the reader is saved."""
    experiment = experiment_for("dcmn", evaluations=2)
    experiment = replace(experiment, options=experiment.options | {"variant": "released"})
    outcomes = train_reader(experiment, tmp_path / "trials")
    assert [outcome["failure"] for outcome in outcomes] == [None, None]
    weights = load_file(tmp_path / "trials" / outcomes[0]["trial_id"] / "model/model.safetensors")
    maps = {name.split(".")[2] for name in weights if name.startswith("interaction.matches")}
    assert maps == {"0"}
    answers, _ = predict_all(experiment, outcomes, tmp_path / "trials")
    assert answers.num_rows
