"""Checkpoints of readers that use a weight in several places."""

from dataclasses import replace

from safetensors.torch import load_file

from coattend.inference.predict import predict_all
from experiments import train_reader


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
