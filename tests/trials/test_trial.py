import json
import select
import subprocess
import sys

import pytest

from coattend.trials.trial import Trial, digest_of_files


@pytest.fixture
def trial(tmp_path):
    return Trial({"reader": "plain", "seed": 0, "training": {"learning_rate": 1e-4}}, tmp_path)


def finished(trial):
    trial.model.mkdir(parents=True)
    (trial.model / "model.safetensors").write_bytes(b"weights")
    return trial.finish({"trial_id": trial.id, "seed": 0, "failure": None})


def test_what_changed_is_another_trial(trial, tmp_path):
    changed = Trial(trial.content | {"training": {"learning_rate": 2e-4}}, tmp_path)
    assert trial.id != changed.id
    assert trial.id == Trial(dict(reversed(trial.content.items())), tmp_path).id


def test_a_trial_is_done_only_when_its_outcome_is_written(trial):
    assert trial.outcome() is None
    outcome = finished(trial)
    assert trial.outcome() == outcome


@pytest.mark.parametrize("damage", ["weights", "outcome"])
def test_a_damaged_trial_is_not_done(trial, damage):
    finished(trial)
    if damage == "weights":
        (trial.model / "model.safetensors").write_bytes(b"weighty")
    else:
        (trial.folder / "outcome.json").write_text('{"trial_id"')
    assert trial.outcome() is None


def test_a_failure_is_recorded_and_gone_after_success(trial):
    trial.folder.mkdir(parents=True)
    trial.fail("the loss became nan")
    assert json.loads((trial.folder / "failure.json").read_text())["failure"] == "the loss became nan"
    finished(trial)
    assert not (trial.folder / "failure.json").exists()


def test_a_file_that_moved_is_another_content(tmp_path):
    (tmp_path / "a").write_text("x")
    before = digest_of_files(tmp_path)
    (tmp_path / "a").rename(tmp_path / "b")
    assert digest_of_files(tmp_path) != before


def test_two_processes_do_not_train_one_trial_at_once(trial, tmp_path):
    hold = (
        "import sys; from pathlib import Path; from coattend.trials.trial import Trial\n"
        f"trial = Trial({trial.content!r}, Path({str(tmp_path)!r}))\n"
        "print('ready', flush=True)\n"
        "with trial.locked():\n    print('held', flush=True); sys.stdin.readline(); print('released', flush=True)\n"
    )
    command = [sys.executable, "-c", hold]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "bufsize": 0}
    with subprocess.Popen(command, **pipes) as first, subprocess.Popen(command, **pipes) as second:
        assert first.stdout.readline() == second.stdout.readline() == b"ready\n"
        ready, _, _ = select.select([first.stdout, second.stdout], [], [], 30)
        assert len(ready) == 1, "both hold the trial, or none"
        holder, waiter = (first, second) if ready[0] is first.stdout else (second, first)
        assert holder.stdout.readline() == b"held\n"
        assert b"another process" in waiter.stderr.readline()
        holder.communicate(b"\n", timeout=30)
        assert waiter.communicate(b"\n", timeout=30)[0] == b"held\nreleased\n"
