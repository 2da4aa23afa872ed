"""Checkpoints of readers that use a weight in several places, and the order of questions after an interruption."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from coattend.inference.predict import predict_all
from coattend.training.distributed import ShardedCollator
from coattend.training.run_trial import TrialRunner
from coattend.training.trainer import ReaderTrainer, last_checkpoint
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


@pytest.mark.parametrize("reader", ["plain", "poi_net"])
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

    # The process that goes on has drawn other numbers.
    torch.manual_seed(99)
    seen.clear()
    ends["end_before"] = None
    resumed, error = runner.attempt(3)
    assert error is None, resumed
    assert seen == straight[saved:]
    assert resumed["curve"] == outcome["curve"]
