import hashlib
import json
import os
import select
import subprocess
import sys
from pathlib import Path

import pytest

from coattend.trials import trial as trials
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


@pytest.fixture
def read_files(monkeypatch):
    """Names of the weights that are read from now on, by a process that remembers nothing."""
    names = []

    def file_digest(path):
        names.append(path.name)
        return hashlib.sha256(path.read_bytes()).hexdigest()

    monkeypatch.setattr(trials, "file_digest", file_digest)
    return names


WEIGHTS = Path("model", "model.safetensors")
A_MINUTE = 60 * 10**9


def age(file):
    """Make a file a minute older than it is."""
    state = file.stat()
    os.utime(file, ns=(state.st_atime_ns, state.st_mtime_ns - A_MINUTE))


def test_the_weights_of_a_finished_trial_are_not_read_again(trial, read_files):
    outcome = finished(trial)
    read_files.clear()
    assert Trial(trial.content, trial.store).outcome() == outcome
    assert read_files == []


def test_weights_are_read_once_for_each_change(trial, read_files):
    outcome = finished(trial)
    weights = trial.folder / WEIGHTS
    for _ in range(3):
        age(weights)
        read_files.clear()
        assert [trial.outcome(), trial.outcome()] == [outcome, outcome]
        assert read_files == [weights.name]


def test_weights_that_may_still_change_unseen_are_read_every_time(trial, read_files):
    """A file system may give two contents of one moment the same time."""
    outcome = finished(trial)
    (trial.folder / WEIGHTS).write_bytes(b"weights")
    read_files.clear()
    assert [trial.outcome(), trial.outcome()] == [outcome, outcome]
    assert read_files == 2 * [WEIGHTS.name]


def other_content(weights):
    weights.write_bytes(b"weighty")


def other_content_of_the_same_time(weights):
    state = weights.stat()
    weights.write_bytes(b"weighty")
    os.utime(weights, ns=(state.st_atime_ns, state.st_mtime_ns))


def other_file_of_the_same_time(weights):
    state = weights.stat()
    copy = weights.with_name("copy")
    copy.write_bytes(b"weighty")
    os.utime(copy, ns=(state.st_atime_ns, state.st_mtime_ns))
    copy.replace(weights)


def another_file(weights):
    weights.with_name("reader.json").write_text("{}")


CHANGES = (
    other_content,
    other_content_of_the_same_time,
    other_file_of_the_same_time,
    another_file,
    Path.unlink,
    lambda weights: weights.rename(weights.with_name("other")),
)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("looked_before", [False, True])
def test_weights_that_were_changed_are_not_done_however_often_they_were_checked(trial, change, looked_before):
    finished(trial)
    if looked_before:
        age(trial.folder / WEIGHTS)
        assert trial.outcome()
    change(trial.folder / WEIGHTS)
    assert trial.outcome() is None
    assert trial.outcome() is None


@pytest.mark.parametrize("record", ["", "{", "[]", '{"digest": "0", "versions": {}}'])
def test_weights_are_read_where_it_is_not_known_that_they_were(trial, read_files, record):
    outcome = finished(trial)
    (trial.folder / ".model.checked").write_text(record)
    read_files.clear()
    assert trial.outcome() == outcome
    assert read_files == [WEIGHTS.name]


def test_weights_are_read_where_that_cannot_be_written_down(trial):
    outcome = finished(trial)
    (trial.folder / ".model.checked").unlink()
    (trial.folder / ".model.checked").mkdir()
    assert trial.outcome() == outcome
    assert not list(trial.folder.glob(".*.part"))


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
