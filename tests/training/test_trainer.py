"""The weight and the order of questions, the learning rate by step, and checkpoints of readers that share weights."""

import importlib.util
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from accelerate import PartialState
from safetensors.torch import load_file
from transformers import TrainerCallback

from coattend.errors import CoattendError
from coattend.inference.predict import predict_all
from coattend.readers.batch import Batch
from coattend.training import events
from coattend.training.callbacks import Measure
from coattend.training.distributed import ShardedCollator, launch
from coattend.training.run_trial import TrialRunner
from coattend.training.trainer import ReaderTrainer, arguments_of, last_checkpoint
from coattend.trials.build import build_collator, build_reader
from experiments import train_reader

UNCLIPPED, UNCHANGED = 1e9, 1e-30
"""A clip that never applies, and a learning rate at which no weight changes."""


class Gradients(TrainerCallback):
    """Notes the gradient of every step, as the optimizer gets it, and every logged loss."""

    def __init__(self):
        self.steps, self.losses = [], []

    def on_pre_optimizer_step(self, args, state, control, model, **_):
        self.steps.append(gradient(model))

    def on_log(self, args, state, control, logs, **_):
        self.losses += [logs["loss"]] if "loss" in logs else []


def gradient(reader):
    """All gradients of a reader in one vector."""
    parts = [weights.grad.flatten() for weights in reader.parameters() if weights.grad is not None]
    return torch.cat(parts).double()


def fresh(experiment, train):
    torch.manual_seed(0)
    return build_reader(experiment, train).double()


def epoch_of_gradients(experiment, folder):
    """Train an epoch in which no weight changes; return the trainer and what was noted."""
    questions = experiment.training_questions()
    reader = fresh(experiment, questions.train)
    gradients = Gradients()
    trainer = ReaderTrainer(
        questions.train,
        reader,
        experiment,
        features=None,
        score=lambda state: (0.0, None),
        arguments=arguments_of(experiment.training, folder, seed=3),
        measure=Measure("trial", "cpu"),
    )
    trainer.add_callback(gradients)
    trainer.train()
    return trainer, gradients


def mean_over_questions(experiment):
    """The gradient and the loss of the mean over all terms, each question read alone."""
    train = experiment.training_questions().train
    reader = fresh(experiment, train).train()
    collator = build_collator(experiment, reader, train)
    terms = sum(map(collator.loss_terms, train.examples))
    total = 0.0
    for example in train.examples:
        loss = reader(Batch(**collator([example]))).loss * collator.loss_terms(example) / terms
        loss.backward()
        total += loss.item()
    return gradient(reader), total


@pytest.mark.parametrize(
    ("reader", "accumulate", "by_lot"),
    [("plain", 1, None), ("plain", 3, None), ("plain", 1, 4), ("plain_apart", 1, None)],
)
def test_every_question_has_the_same_weight_in_an_epoch(experiment_for, tmp_path, reader, accumulate, by_lot):
    # Of a passage that is read once, a budget holds more questions.
    tokens = 384 if reader == "plain_apart" else 1024
    batches = {"tokens_per_batch": tokens, "questions_per_batch": by_lot, "accumulate": accumulate}
    experiment = experiment_for(reader, max_questions=14, clip=UNCLIPPED, learning_rate=UNCHANGED, **batches)
    trainer, gradients = epoch_of_gradients(experiment, tmp_path)
    sizes = [len(batch) for batch in trainer.buckets]
    assert len(set(sizes)) > 1 and len(sizes) % 3, "batches and steps differ in size"
    expected, loss = mean_over_questions(experiment)
    # Steps average as many batches as `accumulate` says, the last one fewer.
    total = sum(gradients.steps) * accumulate / len(sizes)
    torch.testing.assert_close(total, expected, rtol=1e-9, atol=1e-12)
    assert gradients.losses == [pytest.approx(loss, rel=1e-6)]


def test_windows_of_a_span_have_the_same_weight_each(experiment_for, tmp_path):
    experiment = experiment_for(
        task="span", max_length=48, stride=8, tokens_per_batch=512, clip=UNCLIPPED, learning_rate=UNCHANGED
    )
    trainer, gradients = epoch_of_gradients(experiment, tmp_path)
    expected, _ = mean_over_questions(experiment)
    torch.testing.assert_close(sum(gradients.steps) / len(trainer.buckets), expected, rtol=1e-9, atol=1e-12)


def test_clipping_does_not_change_the_weight_of_a_question(experiment_for, tmp_path):
    experiment = experiment_for(max_questions=14, tokens_per_batch=1024, clip=1e-3, learning_rate=UNCHANGED)
    trainer, gradients = epoch_of_gradients(experiment, tmp_path)
    sizes = torch.tensor([len(batch) for batch in trainer.buckets], dtype=torch.double)
    norms = torch.stack([step.norm() for step in gradients.steps])
    torch.testing.assert_close(norms, 1e-3 * sizes / sizes.mean(), rtol=1e-3, atol=0)


def total_gradient(experiment, folder):
    """The gradient of an epoch, of one of several processes."""
    trainer, gradients = epoch_of_gradients(experiment, folder / str(PartialState().process_index))
    return sum(gradients.steps) / len(trainer.buckets)


@pytest.mark.slow
def test_processes_together_have_the_gradient_of_one(experiment_for, tmp_path):
    experiment = experiment_for(max_questions=14, tokens_per_batch=1024, clip=UNCLIPPED, learning_rate=UNCHANGED)
    together = launch(total_gradient, experiment, tmp_path, processes=2, name="test")
    torch.testing.assert_close(together, mean_over_questions(experiment)[0], rtol=1e-9, atol=1e-12)


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


def test_an_optimizer_of_8_bits_trains_where_its_package_is_and_else_names_it(experiment_for, tmp_path, monkeypatch):
    experiment = experiment_for(optimizer="adamw_8bit")
    if importlib.util.find_spec("bitsandbytes") is not None:
        assert [outcome["failure"] for outcome in train_reader(experiment, tmp_path / "trials")] == [None, None]
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    problem = r"training.optimizer: adamw_8bit needs the package bitsandbytes. Run `pip install bitsandbytes`, or set"
    with pytest.raises(CoattendError, match=problem):
        arguments_of(experiment.training, tmp_path, seed=0)


class Interrupted(Exception):
    """Stands for the end of the process."""


@pytest.fixture
def steps(monkeypatch):
    """The epoch, the indices of the questions and the loss of each step, across all trainings of a test; with
    ``end_before`` a training ends before its step of that number."""
    seen, ends = [], {"end_before": None}
    collate, step = ShardedCollator.__call__, ReaderTrainer.training_step

    def collate_with_indices(self, examples):
        return collate(self, examples) | {"indices": [example.question_id for example in examples]}

    def step_with_indices(self, model, inputs, *arguments, **keywords):
        if self.state.global_step == ends["end_before"]:
            raise Interrupted
        index_of = {example.question_id: index for index, example in enumerate(self.train_dataset)}
        indices = [index_of[name] for name in inputs.pop("indices")]
        loss = step(self, model, inputs, *arguments, **keywords)
        seen.append((self.buckets.epoch, indices, loss.item()))
        return loss

    monkeypatch.setattr(ShardedCollator, "__call__", collate_with_indices)
    monkeypatch.setattr(ReaderTrainer, "training_step", step_with_indices)
    return seen, ends


@pytest.mark.parametrize("reader", [pytest.param("plain", marks=pytest.mark.slow), "poi_net"])
def test_after_an_end_in_the_middle_of_an_epoch_the_same_questions_follow(experiment_for, tmp_path, steps, reader):
    seen, ends = steps
    experiment = experiment_for(reader, max_questions=16, epochs=3, evaluations=5, tokens_per_batch=512)
    outcome, error = TrialRunner.of(experiment, tmp_path / "straight").attempt(3)
    assert error is None, outcome
    straight = seen.copy()
    seen.clear()
    an_epoch = len(straight) // 3
    epochs = [straight[first : first + an_epoch] for first in (0, an_epoch, 2 * an_epoch)]
    assert len({str([indices for _, indices, _ in epoch]) for epoch in epochs}) == 3, "each epoch has its own order"
    assert [epoch[0][0] for epoch in epochs] == [0, 1, 2]

    runner = TrialRunner.of(experiment, tmp_path / "interrupted")
    ends["end_before"] = 2 * an_epoch - 1
    _, error = runner.attempt(3)
    assert isinstance(error, Interrupted)
    assert seen == straight[: 2 * an_epoch - 1]
    checkpoint = last_checkpoint(runner.trial(3).checkpoints)
    saved = int(Path(checkpoint).name.removeprefix("checkpoint-"))
    assert an_epoch < saved < 2 * an_epoch - 1, "in the middle of the second epoch"
    assert not list(Path(checkpoint).glob("training_args*")), "a pickle that nothing reads"

    # The process that goes on has drawn other numbers.
    torch.manual_seed(99)
    seen.clear()
    ends["end_before"] = None
    resumed, error = runner.attempt(3)
    assert error is None, resumed
    assert seen == straight[saved:]
    curves = [
        [{name: value for name, value in point.items() if not name.endswith("seconds")} for point in record["curve"]]
        for record in (resumed, outcome)
    ]
    assert curves[0] == curves[1]


def test_few_questions_are_read_until_there_are_enough_steps(experiment_for, tmp_path):
    usual, _ = epoch_of_gradients(experiment_for(epochs=1, learning_rate=UNCHANGED), tmp_path / "usual")
    few, steps = usual.state.global_step, usual.state.global_step * 2 + 1
    for accumulate in (1, 2):
        training = {"epochs": 1, "min_steps": steps, "accumulate": accumulate, "learning_rate": UNCHANGED}
        longer, _ = epoch_of_gradients(experiment_for(**training), tmp_path / f"longer_{accumulate}")
        assert longer.state.global_step == steps
    enough, _ = epoch_of_gradients(
        experiment_for(epochs=1, min_steps=few - 1, learning_rate=UNCHANGED), tmp_path / "enough"
    )
    assert enough.state.global_step == few


def test_another_fewest_number_of_steps_is_another_trial(experiment_for, tmp_path):
    without, of_ten = (TrialRunner.of(experiment_for(min_steps=steps), tmp_path).trial(3) for steps in (None, 10))
    assert of_ten.content["training"]["min_steps"] == 10
    assert of_ten.id != without.id
