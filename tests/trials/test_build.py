"""Readers as experiments build them: the dropout of their encoder, and their vocabulary."""

from dataclasses import replace

import pytest
from transformers import AutoConfig

from coattend.config import EncoderParameters
from coattend.errors import CoattendError
from coattend.trials.build import build_reader, initial_reader
from experiments import lose_a_bit, train_reader


@pytest.mark.parametrize("dropout", [None, 0.0, 0.3])
def test_an_encoder_has_the_dropout_that_is_configured_or_else_its_own(dropout, experiment_for, tiny_encoder):
    experiment = experiment_for()
    experiment = replace(experiment, encoder=EncoderParameters(source=str(tiny_encoder), dropout=dropout))
    built = build_reader(experiment, experiment.training_questions().train).encoder.model.config
    own = AutoConfig.from_pretrained(tiny_encoder)
    for name in ("hidden_dropout_prob", "attention_probs_dropout_prob"):
        assert getattr(own, name) == 0.1
        assert getattr(built, name) == (0.1 if dropout is None else dropout)


def test_a_trial_may_start_from_another_one_whose_encoder_has_its_own_dropout(experiment_for, tiny_encoder, tmp_path):
    experiment = replace(experiment_for(), encoder=EncoderParameters(source=str(tiny_encoder), dropout=None))
    first, _ = train_reader(experiment, tmp_path / "trials")
    later = replace(experiment, training=experiment.training.model_copy(update={"start_from": first["trial_id"]}))
    assert initial_reader(later, experiment.training_questions().train, tmp_path / "trials", seed=3)


def test_a_parent_that_a_disk_has_damaged_is_not_started_from(experiment_for, tmp_path):
    experiment = experiment_for()
    parent, _ = train_reader(experiment, tmp_path)
    later = replace(experiment, training=experiment.training.model_copy(update={"start_from": parent["trial_id"]}))
    questions = experiment.training_questions().train
    assert initial_reader(later, questions, tmp_path, seed=3)
    lose_a_bit(tmp_path / parent["trial_id"])
    with pytest.raises(CoattendError, match=r"model: is not what was trained\. Run the training pipeline again"):
        initial_reader(later, questions, tmp_path, seed=3)
