"""Callbacks of a training: early stopping, costs and the choice of checkpoints."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from transformers import TrainerControl, TrainerState

from coattend import readers
from coattend.errors import CoattendError
from coattend.readers.encoders.word_embeddings import Words
from coattend.training import callbacks, events
from coattend.training.callbacks import EmbeddingL2, Patience
from coattend.training.run_trial import TrialRunner
from coattend.training.trainer import COMPLETE, last_checkpoint, remove_checkpoint
from coattend.trials.device import PeakMemory
from coattend.trials.trial import digest_of_files
from experiments import train_reader


def stops(scores, patience):
    """After which scoring a training with these held-out scores stops; None if it never does."""
    state, control, callback = TrainerState(), TrainerControl(), Patience(patience)
    for number, score in enumerate(scores, 1):
        state.log_history.append({"eval_score": score})
        callback.on_evaluate(None, state, control)
        if control.should_training_stop:
            return number
    return None


@pytest.mark.parametrize(
    ("scores", "patience", "expected"),
    [
        ([0.3, 0.4, 0.4, 0.4], 2, 4),
        ([0.3, 0.4, 0.2, 0.5], 2, None),
        ([0.4, 0.3], 1, 2),
        ([0.1, 0.2, 0.3], 1, None),
        ([], 1, None),
    ],
)
def test_it_stops_after_scorings_without_a_gain(scores, patience, expected):
    assert stops(scores, patience) == expected


def test_a_training_that_was_about_to_stop_does_not_go_on():
    state = TrainerState(log_history=[{"eval_score": 0.4}, {"loss": 1.0}, {"eval_score": 0.3}, {"eval_score": 0.4}])
    control = TrainerControl()
    Patience(3).on_step_begin(None, state, control)
    assert not control.should_training_stop
    Patience(2).on_step_begin(None, state, control)
    assert control.should_training_stop


def test_a_checkpoint_that_is_half_deleted_or_half_written_does_not_count(tmp_path):
    for step in (5, 10, 15):
        folder = tmp_path / f"checkpoint-{step}"
        folder.mkdir()
        (folder / "optimizer.pt").write_bytes(b"state")
        (folder / "trainer_state.json").write_text('{"best_model_checkpoint": null}')
        if step < 15:
            (folder / COMPLETE).write_text(digest_of_files(folder))
    assert last_checkpoint(tmp_path) == str(tmp_path / "checkpoint-10")
    assert not (tmp_path / "checkpoint-15").exists()
    remove_checkpoint(tmp_path / "checkpoint-10")
    assert last_checkpoint(tmp_path) == str(tmp_path / "checkpoint-5")


def test_peak_memory_is_what_was_held_in_between():
    memory = PeakMemory("cpu")
    before = memory.mib
    block = b"x" * (200 * 2**20)
    del block
    assert 190 < memory.mib - before < 400
    assert PeakMemory("cpu").mib < before + 100


def test_a_last_step_that_leaves_no_numbers_is_a_failure(experiment_for, tmp_path):
    once = experiment_for(learning_rate=1e39, warmup=0.0, tokens_per_batch=8192, precision="fp32")
    with pytest.raises(CoattendError, match=r"some weights are not finite after the last step. Lower training"):
        train_reader(once, tmp_path)


def test_word_vectors_shrink_by_the_gradient_of_their_squares():
    words = Words(words=("fox", "slept"), width=8)
    reader = readers.build("aoa_reader", encoder=words, vectors="random", vector_width=8, train_vectors=True)
    vectors = reader.encoder.vectors.weight
    (expected,) = torch.autograd.grad(1e-2 * vectors.square().sum(), vectors)
    vectors.grad = torch.ones_like(vectors)
    EmbeddingL2(1e-2).on_pre_optimizer_step(None, None, None, model=reader)
    torch.testing.assert_close(vectors.grad, 1 + expected)
    assert {name for name, parameter in reader.named_parameters() if parameter.grad is not None} == {
        "encoder.vectors.weight"
    }


def test_a_reader_without_trained_word_vectors_has_none_to_shrink(experiment_for, tmp_path):
    with pytest.raises(CoattendError, match=r"training\.embedding_l2: there are no word vectors that are trained"):
        train_reader(experiment_for(embedding_l2=1e-4), tmp_path / "trials")


@pytest.mark.parametrize(("name", "values"), [("embedding_l2", (0.0, 1e-4)), ("schedule", ("linear", "constant"))])
def test_what_changes_a_training_is_part_of_its_id(experiment_for, tmp_path, name, values):
    trials = [TrialRunner.of(experiment_for(**{name: value}), tmp_path).trial(3) for value in values]
    assert [trial.content["training"][name] for trial in trials] == list(values)
    assert trials[0].id != trials[1].id


def test_the_clock_waits_for_the_gpu_counts_batches_and_leaves_out_scores(monkeypatch):
    now = [10.0]
    pass_by = lambda seconds: now.__setitem__(0, now[0] + seconds)  # noqa: E731
    monkeypatch.setattr(callbacks.time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(callbacks.time, "process_time", lambda: now[0] / 2)
    monkeypatch.setattr(torch.cuda, "reset_peak_memory_stats", lambda: None)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: pass_by(50))
    measure, state = callbacks.Measure("trial", "cuda"), TrainerState(max_steps=4)
    going_on, scored = TrainerControl(), TrainerControl(should_evaluate=True, should_save=True)

    def step(control):
        pass_by(3)  # The batch.
        measure.on_step_begin(None, state, control)
        pass_by(1)
        state.global_step += 1
        measure.on_step_end(None, state, control)

    measure.on_train_begin(None, state, going_on)
    step(going_on)
    assert (measure.seconds, measure.processor_seconds) == (4, 2), "it is read while a loss is logged"
    for seconds in (58, 112):
        step(scored)
        pass_by(1000)  # Scores and a checkpoint.
        assert (measure.seconds, measure.processor_seconds) == (seconds, seconds / 2)
        measure.on_save(None, state, scored)
    step(scored)
    measure.on_save(None, state, scored)
    pass_by(1000)  # The last step was the end.
    assert measure.seconds == 166
    # A training that was interrupted goes on counting; one that stops early stops the clock.
    resumed = callbacks.Measure("trial", "cuda")
    state.log_history = [{"seconds": 55.0, "processor_seconds": 27.5}, {"loss": 1.0}]
    resumed.on_train_begin(None, state, going_on)
    assert (resumed.seconds, resumed.processor_seconds) == (55.0, 27.5)
    resumed.on_step_end(None, state, TrainerControl(should_training_stop=True))
    pass_by(1000)
    assert resumed.seconds == 105


class CutOff:
    """Ends a training at its third scoring, when two checkpoints are whole."""

    def __init__(self):
        self.scored = 0

    def trial_started(self, trial):
        pass

    def trial_logged(self, trial_id, step, values):
        self.scored += "held_out" in values
        if self.scored == 3:
            raise KeyboardInterrupt

    def trial_ended(self, trial_id, outcome):
        pass


def test_a_frozen_training_that_was_cut_off_goes_on_with_what_is_learned_alone(
    experiment_for, tmp_path, monkeypatch, caplog
):
    caplog.set_level("INFO")
    experiment = experiment_for("duma", frozen=True, epochs=2, evaluations=4, tokens_per_batch=256, precision="fp32")
    cut, uncut = (TrialRunner.of(experiment, tmp_path / name) for name in ("cut", "whole"))
    with monkeypatch.context() as until, pytest.raises(KeyboardInterrupt):
        until.setattr(events, "listeners", [CutOff()])
        cut.attempt(3)
    weights = load_file(Path(last_checkpoint(cut.trial(3).checkpoints), "model.safetensors"))
    assert weights and not [name for name in weights if name.startswith("encoder.model.")]
    (resumed, _), (never, _) = (work.attempt(3) for work in (cut, uncut))
    assert "goes on from checkpoint-" in caplog.text and "missing" not in caplog.text
    assert (resumed["held_out"], resumed["best_step"]) == (never["held_out"], never["best_step"])
    for clock in ("seconds", "processor_seconds"):
        times = [point[clock] for point in resumed["curve"]]
        assert times == sorted(times) and times[0] > 0, "it goes on from the seconds before"
    assert resumed["curve"][-1]["seconds"] == resumed["seconds"]
    ended, expected = (load_file(work.trial(3).model / "model.safetensors") for work in (cut, uncut))
    assert ended.keys() == expected.keys() and "encoder.model.embeddings.word_embeddings.weight" in ended
    assert all(torch.equal(weight, expected[name]) for name, weight in ended.items())
