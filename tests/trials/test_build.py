"""Readers as experiments build them: the dropout of their encoder, its adapters, and their vocabulary."""

from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoConfig

from coattend.batches.subword_alignment import SubwordAlignment
from coattend.config import EncoderParameters, LoraParameters, TrainingParameters
from coattend.errors import CoattendError
from coattend.inference.predict import predict_all
from coattend.trials.build import build_collator, build_reader, cached_features, initial_reader, training_batches
from experiments import lose_a_bit, train_reader, train_seed


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
    first = train_seed(experiment, tmp_path / "trials")
    later = replace(experiment, training=experiment.training.model_copy(update={"start_from": first["trial_id"]}))
    assert initial_reader(later, experiment.training_questions().train, tmp_path / "trials", seed=3)


def test_a_parent_that_a_disk_has_damaged_is_not_started_from(experiment_for, tmp_path):
    experiment = experiment_for()
    parent = train_seed(experiment, tmp_path)
    later = replace(experiment, training=experiment.training.model_copy(update={"start_from": parent["trial_id"]}))
    questions = experiment.training_questions().train
    assert initial_reader(later, questions, tmp_path, seed=3)
    lose_a_bit(tmp_path / parent["trial_id"])
    message = r"model: is missing or is not what was trained\. Run the training pipeline again"
    with pytest.raises(CoattendError, match=message):
        initial_reader(later, questions, tmp_path, seed=3)


def test_a_parent_that_is_not_finished_is_not_started_from(experiment_for, tmp_path):
    experiment = experiment_for()
    parent = train_seed(experiment, tmp_path)
    later = replace(experiment, training=experiment.training.model_copy(update={"start_from": parent["trial_id"]}))
    (tmp_path / parent["trial_id"] / "outcome.json").unlink()
    with pytest.raises(CoattendError, match=r"training\.start_from: the trial .* is not finished"):
        initial_reader(later, experiment.training_questions().train, tmp_path, seed=3)


LORA = {"rank": 2, "alpha": 4.0}


@pytest.fixture(scope="module")
def adapted(experiment_for, tmp_path_factory):
    """An experiment with adapters, its two trials' outcomes, and the folder of trials."""
    pytest.importorskip("peft", reason="peft is not installed: it is in the extra `lora`")
    experiment = experiment_for("duma", lora=LORA, evaluations=2, learning_rate=1e-2)
    store = tmp_path_factory.mktemp("trials")
    return experiment, train_reader(experiment, store), store


def test_a_trial_with_adapters_holds_them_and_what_is_new_alone(adapted, tiny_encoder):
    experiment, outcomes, store = adapted
    assert [outcome["failure"] for outcome in outcomes] == [None, None]
    weights = load_file(store / outcomes[0]["trial_id"] / "model/model.safetensors")
    of_encoder = {name for name in weights if name.startswith("encoder.")}
    assert of_encoder == {name for name in weights if ".lora_" in name} != weights.keys()
    assert outcomes[0]["parameters"] == sum(tensor.numel() for tensor in weights.values())
    assert any(tensor.any() for name, tensor in weights.items() if ".lora_B." in name)
    assert outcomes[0]["training"]["lora"] == LORA | {"dropout": 0.0, "targets": []}
    answers, _ = predict_all(experiment, outcomes, store)
    assert answers.num_rows


def test_a_trial_goes_on_with_its_parents_adapters_or_trains_the_whole_encoder(adapted):
    experiment, (parent, _), store = adapted
    train, saved = (
        experiment.training_questions().train,
        load_file(store / parent["trial_id"] / "model/model.safetensors"),
    )

    def start(lora):
        changes = {"start_from": parent["trial_id"], "lora": lora}
        later = replace(experiment, training=experiment.training.model_copy(update=changes))
        return initial_reader(later, train, store, seed=3)

    same = start(LoraParameters(**LORA))
    learning = {name for name, weights in same.named_parameters() if weights.requires_grad}
    assert learning == saved.keys()
    assert all(torch.equal(same.get_parameter(name), weights) for name, weights in saved.items())
    whole = start(None)
    assert all(weights.requires_grad for weights in whole.parameters())
    assert not any("lora" in name for name, _ in whole.named_parameters())
    with pytest.raises(
        CoattendError, match=r"training.lora: the trial '\w+' has other adapters.*with the same adapters"
    ):
        start(LoraParameters(rank=4))


def test_adapters_of_what_is_not_pretrained_are_refused(experiment_for):
    experiment = replace(experiment_for(lora=LORA), encoder=EncoderParameters(source="characters"))
    problem = "training.lora: adapts pretrained weights, and the encoder starts untrained. Set lora: null"
    with pytest.raises(CoattendError, match=problem):
        build_reader(experiment, experiment_for().training_questions().train)


def test_an_encoder_is_frozen_or_adapted():
    with pytest.raises(ValueError, match="a frozen encoder has no adapters: set frozen: false, or lora: null"):
        TrainingParameters(frozen=True, lora=LORA)


def test_tags_that_are_frozen_before_they_were_learned_are_told_of(experiment_for, tmp_path, caplog):
    experiment = experiment_for("poi_net")
    parent = train_seed(experiment, tmp_path)
    caplog.clear()
    frozen = replace(experiment, training=experiment.training.model_copy(update={"frozen": True}))
    questions = experiment.training_questions().train
    build_reader(frozen, questions)
    assert "begins at zero, and is frozen with it: tags have no effect" in caplog.text
    caplog.clear()
    # Those of a parent have learned, and a reader without tags has none to learn.
    learned = replace(frozen, training=frozen.training.model_copy(update={"start_from": parent["trial_id"]}))
    initial_reader(learned, questions, tmp_path, seed=3)
    build_reader(experiment_for("plain", frozen=True), questions)
    # So has an embedding behind the encoder.
    build_reader(experiment_for("multi_head_block", frozen=True), questions)
    assert not caplog.records


@pytest.mark.parametrize(
    ("training", "refused"),
    [
        ({"permute_entities": True}, "permute_entities: true"),
        ({"reads": "shuffled_passage"}, "reads: shuffled_passage"),
    ],
)
def test_words_that_change_have_no_vectors_in_context(experiment_for, sample, tmp_path, training, refused):
    experiment = experiment_for(**training)
    questions = experiment.training_questions().train
    reader, alignment = (
        build_reader(experiment, questions),
        SubwordAlignment.between(sample.words, questions.tokens, None),
    )
    assert cached_features(experiment, reader, questions, tmp_path) is None
    with pytest.raises(CoattendError, match=f"context vectors: cannot be used with training.{refused}"):
        cached_features(replace(experiment, alignment=alignment), reader, questions, tmp_path)


def test_questions_by_lot_are_padded_to_the_longest_and_not_read_with_one_passage(experiment_for):
    experiment = experiment_for(questions_per_batch=3, max_questions=8)
    train = experiment.training_questions().train
    collator = build_collator(experiment, build_reader(experiment, train), train)
    batches, padding = training_batches(collator, train.examples, experiment.training)
    assert sorted(map(len, batches)) == [2, 3, 3]
    for batch in batches:
        examples = [train.examples[row] for row in batch]
        longest = max(map(padding.sequence_length, examples))
        assert padding(examples)["input_ids"].shape[1] == longest <= max(map(collator.sequence_length, examples))
    with pytest.raises(CoattendError, match=r"questions_per_batch: draws questions by lot"):
        training_batches(replace(collator, apart=True), train.examples, experiment.training)
