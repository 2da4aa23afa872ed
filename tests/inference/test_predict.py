"""Trials that were trained are asked, and one that cannot be does not keep the others from it."""

import shutil
from dataclasses import replace

import pytest
import torch
from torch.nn.modules.module import register_module_forward_hook

from coattend.errors import CoattendError
from coattend.inference import predict as prediction
from coattend.inference.predict import answer_questions, predict_all, predict_each, predictions_file
from coattend.readers.batch import Batch
from coattend.readers.reader import Reader
from coattend.training.launcher import train_seeds
from coattend.training.run_trial import TrialRunner
from coattend.trials.build import build_reader
from coattend.trials.device import inference_batch_tokens
from experiments import lose_a_bit


def test_a_trial_that_cannot_be_asked_fails_alone(experiment_for, tmp_path, caplog):
    experiment = experiment_for()
    trials = train_seeds(TrialRunner.of(experiment, tmp_path), processes=1)
    expected, _ = predict_all(experiment, trials, tmp_path)
    answers, outcomes = predict_each(experiment, trials, tmp_path)
    assert answers.equals(expected)
    assert outcomes == trials

    lost, sound = outcomes
    shutil.rmtree(tmp_path / lost["folder"] / "model")
    with pytest.raises(CoattendError, match="is missing or is not what was trained"):
        predict_all(experiment, trials, tmp_path)
    answers, outcomes = predict_each(experiment, trials, tmp_path)
    problem = f"{tmp_path / lost['folder'] / 'model'}: is missing or is not what was trained"
    message = f"{problem}. Run the training pipeline again"
    assert outcomes == [lost | {"failure": f"cannot be asked: CoattendError: {message}"}, sound]
    assert answers.equals(expected.filter([name == sound["trial_id"] for name in expected["trial_id"].to_pylist()]))
    assert f"trial {lost['trial_id']} (seed 3) cannot be asked: {message}" in caplog.text

    answers, outcomes = predict_each(experiment, [lost, {"failure": "the loss became nan"}], tmp_path)
    assert not len(answers)
    assert [outcome["failure"].partition(":")[0] for outcome in outcomes] == ["cannot be asked", "the loss became nan"]


def test_weights_that_a_disk_has_damaged_answer_nothing_more(experiment_for, tmp_path):
    """The trial stays done, and what it has answered before stays an answer: that has a digest of its own."""
    experiment = experiment_for()
    runner = TrialRunner.of(experiment, tmp_path)
    answering, silent = trials = train_seeds(runner, processes=1)
    expected, _ = predict_all(experiment, [answering], tmp_path)
    for trial in trials:
        lose_a_bit(tmp_path / trial["folder"])
    assert runner.trial(3).outcome() == answering
    assert predict_all(experiment, [answering], tmp_path)[0].equals(expected)
    with pytest.raises(CoattendError, match="is missing or is not what was trained"):
        predict_all(experiment, [silent], tmp_path)
    assert runner.trial(4).outcome() is None, "it is trained again"


def test_questions_are_hashed_once_for_all_trials(experiment_for, tmp_path, monkeypatch):
    experiment = experiment_for()
    trials = train_seeds(TrialRunner.of(experiment, tmp_path), processes=1)
    expected, _ = predict_all(experiment, trials, tmp_path)
    calls = []
    digest = prediction.digest
    monkeypatch.setattr(prediction, "digest", lambda *arguments: calls.append(1) or digest(*arguments))
    assert predict_all(experiment, trials, tmp_path)[0].equals(expected)
    assert len(trials) == 2 and len(calls) == 1


def test_predictions_of_spans_belong_to_the_rules_that_marked_them(experiment_for):
    experiment = experiment_for("plain", task="span")
    questions = experiment.source.evaluation(experiment.training)
    assert predictions_file(experiment, replace(questions, scorer="squad")) == predictions_file(experiment, questions)
    assert predictions_file(experiment, replace(questions, scorer="cmrc")) != predictions_file(experiment, questions)


@pytest.mark.parametrize(("device", "by_transformer", "budget"), [("cpu", True, 2048), ("cpu", False, 6144)])
def test_a_processor_asks_a_transformer_less_at_once_than_it_learns_from(
    experiment_for, device, by_transformer, budget
):
    experiment = experiment_for(tokens_per_batch=6144, device=device)
    assert inference_batch_tokens(experiment.training, transformer=by_transformer) == budget
    assert (
        inference_batch_tokens(experiment_for(tokens_per_batch=256, device=device).training, transformer=by_transformer)
        == 256
    )


def test_a_gpu_asks_a_transformer_more_at_once_than_it_learns_from(experiment_for, monkeypatch):
    monkeypatch.setattr("coattend.trials.device.select_device", lambda _: "cuda")

    def budget(*, transformer=True, trained=True, **training):
        training = experiment_for(tokens_per_batch=256, **training).training
        return inference_batch_tokens(training, transformer=transformer, trained=trained)

    assert budget() == 1024
    # What a step of these keeps says little about the room for more.
    assert {budget(transformer=False), budget(trained=False), budget(frozen=True)} == {256}
    assert budget(gradient_checkpointing=True) == budget(lora={"rank": 2}) == 256


def test_answers_are_the_same_however_many_are_asked_at_once(experiment_for, monkeypatch):
    experiment = experiment_for(precision="fp32")
    questions = experiment.training_questions().train
    reader = build_reader(experiment, questions)
    monkeypatch.setattr("coattend.trials.device.CPU_CACHE_TOKENS", 64)
    alone = {answer.example.question_id: answer.scores for answer in answer_questions(experiment, reader, questions)}
    monkeypatch.undo()
    together = {answer.example.question_id: answer.scores for answer in answer_questions(experiment, reader, questions)}
    assert alone.keys() == together.keys()
    assert all(alone[key] == pytest.approx(together[key], abs=1e-5) for key in alone)


@pytest.mark.parametrize("name", ["plain", "plain_apart"])
def test_a_question_that_is_asked_alone_shares_its_batch_with_no_other(experiment_for, name):
    experiment = experiment_for(name)
    questions = experiment.training_questions().train
    reader = build_reader(experiment, questions)
    alone = [read.examples for read in prediction.read_questions(experiment, reader, questions, alone=True)]
    assert alone == [[example] for example in questions.examples]
    answers = answer_questions(experiment, reader, questions, alone=True)
    assert [answer.example for answer in answers] == list(questions.examples)


@pytest.mark.parametrize("evaluations", [1, 3])
def test_questions_held_out_are_asked_once_for_each_evaluation(experiment_for, tmp_path, evaluations):
    counts = []

    def count(module, inputs, output):
        if isinstance(module, Reader) and not module.training:
            counts.append(len(inputs[0].option_index))

    work = TrialRunner.of(experiment_for(evaluations=evaluations, epochs=3, learning_rate=1e-9), tmp_path)
    counting = register_module_forward_hook(count)
    outcome, _ = work.attempt(0)
    counting.remove()
    last = max(point["step"] for point in outcome["curve"])
    assert (outcome["best_step"] == last) == (evaluations == 1)  # Of scores that are alike the first is the best.
    assert sum(counts) == evaluations * len(work.questions.held_out.examples)


@pytest.mark.parametrize("name", ["plain", "dcn_plus"])
def test_a_reader_that_is_asked_for_spans_computes_no_loss(experiment_for, name):
    experiment = experiment_for(name, task="span")
    questions = experiment.source.evaluation(experiment.training)
    reader = build_reader(experiment, questions)
    batches = list(prediction.read_questions(experiment, reader, questions))
    assert len(batches) > 1 and all(batch.output.loss is None for batch in batches)
    # A decoder may stop early then, at the span that it would come to anyway.
    reader.eval()
    for output, _, examples, collator in batches:
        with torch.inference_mode():
            trained_on = reader(Batch(**replace(collator, answered=True)(examples)))
        assert trained_on.loss is not None
        assert torch.allclose(output.start, trained_on.start) and torch.allclose(output.end, trained_on.end)
