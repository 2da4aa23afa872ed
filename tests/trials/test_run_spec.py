"""Training describes each trial's reader in a run specification, and mends one that is lost."""

from dataclasses import replace

import pytest

from coattend.trials import run_spec
from experiments import train_reader


@pytest.fixture(scope="module")
def trained(experiment_for, tmp_path_factory):
    """An experiment, its two trials' outcomes, and the folder of trials."""
    experiment, store = experiment_for(precision="fp32"), tmp_path_factory.mktemp("trials")
    return experiment, train_reader(experiment, store), store


def test_each_trial_is_described_with_its_own_seed(trained):
    experiment, outcomes, store = trained
    for seed, outcome in zip((3, 4), outcomes, strict=True):
        spec = run_spec.read_servable(store / outcome["folder"])
        assert (spec.trial_id, spec.model_digest) == (outcome["trial_id"], outcome["model_digest"])
        assert (spec.training.seeds, spec.training.precision) == ((seed,), "fp32")
        assert (spec.tagging_profile, spec.tokenizer_profile) == ("nltk_penn", "minilm")
        assert spec.training.max_length == experiment.training.max_length
        assert spec.inference_training.max_length == experiment.training.max_length


def test_a_lost_spec_is_written_again_without_training(trained):
    experiment, outcomes, store = trained
    folder = store / outcomes[0]["folder"]
    spec, weights = run_spec.read(folder), (folder / "model" / "model.safetensors").stat().st_mtime_ns
    (folder / run_spec.FILE).unlink()
    assert train_reader(experiment, store) == outcomes
    assert run_spec.read(folder) == spec
    assert (folder / "model" / "model.safetensors").stat().st_mtime_ns == weights


def test_a_trial_keeps_the_name_that_it_was_trained_under(trained):
    experiment, outcomes, store = trained
    name = run_spec.read(store / outcomes[0]["folder"]).name
    assert train_reader(replace(experiment, name="of_another_entry"), store) == outcomes
    assert run_spec.read(store / outcomes[0]["folder"]).name == name
