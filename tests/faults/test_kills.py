"""SIGKILL at any moment: nothing half-written is taken as done, and the next run ends as an undisturbed one."""

import json
import os
import shutil
import signal
from random import Random

import pytest
import saving
from kedro.io import DatasetError
from lasting import digests
from warm import Warm

KILLS = int(os.environ.get("KILLS", "4"))
"""How often each stage is killed, at moments that are the same in every run of this test; more are minutes."""

TINY = {
    "readers": {"as_reader": {"vectors": "random", "hidden": 8}},
    "benchmarks": {"sample": {"training": {"max_questions": 8}}},
}
QUESTION = {"passage": "The lamp is in the hall .", "question": "The _ is in the hall ."}


@pytest.fixture(scope="module")
def warm(tmp_path_factory):
    with Warm(tmp_path_factory.mktemp("saved"), "saving") as server:
        yield server


@pytest.mark.parametrize("artifact", ["shards", "table", "metrics", pytest.param("trial", marks=pytest.mark.slow)])
def test_a_save_that_is_killed_anywhere(warm, tmp_path_factory, artifact):
    """Before every single change of a file, first where nothing was, then where an older version is replaced."""
    folder = warm.folder / artifact

    def save(*versions):
        shutil.rmtree(folder, ignore_errors=True)
        for version in versions:
            assert warm.call(artifact, str(folder), version).code == 0

    for before in ([], ["first"]):
        save(*before, "second")
        finished = saving.load(artifact, str(folder))
        save(*before)
        old = saving.load(artifact, str(folder)) if before else []
        at, killed = 0, True
        while killed:
            at += 1
            save(*before)
            # A fork that changes nothing more may end before the signal reaches it.
            forked = warm.call(artifact, str(folder), "second", kill_at=at)
            killed = forked.files >= at
            assert forked.code in (-signal.SIGKILL, 0) if killed else forked.code == 0
            try:
                assert saving.load(artifact, str(folder)) in (old, finished)
            except DatasetError as error:
                # Of several shards one is replaced before the other; a file that was there is never away.
                assert "is not finished" in str(error) if artifact == "shards" else "does not exist" in str(error)
                assert artifact == "shards" or not before
            assert warm.call(artifact, str(folder), "second").code == 0
            assert saving.load(artifact, str(folder)) == finished
            # Empty files stay, as another process may have just made them; those of digests go with the next change.
            assert not [left for left in folder.glob(".[!.]*.part") if left.stat().st_size]
        assert at > 5


STAGES = {
    "ingestion": ("ingestion", "sample", {}, ["data/01_raw", "data/test/02_intermediate", "data/test/03_primary"]),
    "tagging": ("tagging", "sample", {}, ["data/test/04_feature"]),
    "tokenization": ("tokenization", "sample", {}, ["data/test/05_model_input"]),
    "training": ("training", "sample.as_reader", TINY, ["data/test/06_models"]),
    "evaluation": ("evaluation", "sample.as_reader", TINY, ["data/test/07_model_output/sample"]),
    "reporting": ("reporting", "sample", {}, ["data/test/08_reporting"]),
    "prediction": ("prediction", "", None, ["data/test/07_model_output/predictions"]),
}


@pytest.fixture(scope="module")
def staged(empty_project):
    """A project in which every stage has run once, undisturbed, and an interpreter that runs them again."""
    with Warm(empty_project, "stages") as server:
        for name in STAGES:
            ended = server.call("run", *params_of_stage(empty_project, name))
            assert ended.code == 0, ended.output
        yield server


def params_of_stage(project, stage):
    pipelines, namespaces, params, _ = STAGES[stage]
    if params is None:
        (trial,) = (file.parent.name for file in project.glob("data/test/06_models/trials/*/outcome.json"))
        (project / "asked.jsonl").write_text(f"{json.dumps(QUESTION)}\n" * 6)
        params = {"prediction": {"model": trial, "input": "asked.jsonl", "rows_per_shard": 2}}
    return pipelines, namespaces, params


@pytest.mark.slow
@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_that_is_killed_anywhere(staged, stage):
    project, folders = staged.folder, STAGES[stage][-1]
    command = params_of_stage(project, stage)
    backup = project.parent / "kept"
    shutil.copytree(project / "data", backup)
    clear(project, folders)
    changes = staged.call("run", *command).files
    undisturbed = {folder: digests(project / folder) for folder in folders}
    assert all(undisturbed.values())
    random, kills, tries = Random(stage), 0, 0
    clear(project, folders)
    while kills < KILLS:
        tries += 1
        assert tries < 5 * KILLS
        ended = staged.call("run", *command, kill_at=random.randint(1, changes))
        if ended.code == -9:
            kills += 1
            continue
        # It came to its end on what earlier kills had left.
        assert ended.code == 0, ended.output
        assert {folder: digests(project / folder) for folder in folders} == undisturbed
        clear(project, folders)
    ended = staged.call("run", *command)
    assert ended.code == 0, ended.output
    assert {folder: digests(project / folder) for folder in folders} == undisturbed
    shutil.rmtree(project / "data")
    backup.rename(project / "data")


def clear(project, folders):
    for folder in folders:
        shutil.rmtree(project / folder, ignore_errors=True)
