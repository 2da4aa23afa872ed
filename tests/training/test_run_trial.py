"""A trial's content, and what is done again for each trial of an experiment."""

from dataclasses import replace

import pytest

from coattend import readers
from coattend.training.run_trial import TrialRunner


@pytest.fixture
def runner(experiment_for, tmp_path):
    return TrialRunner.of(experiment_for(), tmp_path / "trials")


def test_a_readers_code_is_parsed_once_for_each_change_of_its_files(runner, tmp_path, monkeypatch):
    file, parsed = tmp_path / "reader.py", []

    def code_digest(reader, head):
        parsed.append(file.read_text())
        return parsed[-1]

    monkeypatch.setattr(readers, "sources", lambda reader, head: [file])
    monkeypatch.setattr(readers, "code_digest", code_digest)
    for code in ("first", "the second"):
        file.write_text(code)
        assert {runner.trial(seed).content["source"] for seed in range(3)} == {code}
    assert parsed == ["first", "the second"]


def test_going_through_a_finished_trial_writes_nothing(runner):
    outcome, _ = runner.attempt(3)
    folder = runner.trial(3).folder
    before = {file: file.stat().st_mtime_ns for file in (folder, *folder.rglob("*"))}
    assert runner.attempt(3) == (outcome, None)
    assert {file: file.stat().st_mtime_ns for file in (folder, *folder.rglob("*"))} == before


def test_windows_of_options_are_part_of_a_trial_only_where_they_are_read(experiment_for, tmp_path):
    def content(**settings):
        return TrialRunner.of(experiment_for(**settings), tmp_path).trial(3).content

    assert "over_windows" not in content()["training"]
    assert content(over_windows="max")["training"]["over_windows"] == "max"
    assert "over_windows" not in content(task="span", over_windows="max")["training"]
    # The sample's passages are short: the same questions are read, by the same windows.
    assert content(over_windows="max")["data"] == content()["data"]


def test_an_encoder_with_fewer_layers_makes_another_trial(experiment_for, tmp_path):
    experiment = experiment_for()
    shorter = replace(experiment, encoder=experiment.encoder.model_copy(update={"layers": 1}))
    trials = [TrialRunner.of(either, tmp_path / "trials").trial(3) for either in (experiment, shorter)]
    assert trials[0].id != trials[1].id
    assert "layers" not in trials[0].content["encoder"]


def test_what_changes_no_weight_changes_no_id(experiment_for, tmp_path):
    """Nor does a choice that trainings did not have before, where it is left as it was."""

    def trial(**training):
        return TrialRunner.of(experiment_for(**training), tmp_path / "trials").trial(3)

    usual = trial()
    assert {"lora", "optimizer"}.isdisjoint(usual.content["training"])
    assert trial(gradient_checkpointing=True).id == usual.id
    assert (
        len({usual.id, trial(lora={"rank": 2}).id, trial(lora={"rank": 4}).id, trial(optimizer="adamw_8bit").id}) == 4
    )


def test_processes_that_find_no_gpu_each_are_refused_before_any_starts(experiment_for, tmp_path, monkeypatch):
    monkeypatch.setattr("coattend.training.run_trial.select_device", lambda training: "cuda")
    monkeypatch.setattr("coattend.training.run_trial.gpu_count", lambda: 1)
    outcome, error = TrialRunner.of(experiment_for(processes=2), tmp_path).attempt(3)
    assert str(error).startswith("training.processes: is 2, and each process takes a GPU, of which there are 1. Set it")
    assert outcome["failure"] == f"CoattendError: {error}"
