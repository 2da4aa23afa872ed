"""A bit that flips, or an end that is cut off: what is stored is refused or made again, and never used."""

import json
import os
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from kedro.io import DatasetError
from sampled import trial_of

from coattend.errors import CoattendError
from coattend.io.atomic import checksum_path, matches_checksum, write_with_checksum
from coattend.io.checked import JSONDataset, TableDataset, TablePlan
from coattend.io.sharded import ShardedTableDataset, ShardPlan
from coattend.schemas import TEXTS
from coattend.training.trainer import COMPLETE, last_checkpoint
from coattend.trials.store import finished_trials
from coattend.trials.trial import Trial, digest_of_files

EXACT = {"sample": {"training": {"precision": "fp32"}}}
"""How the readers of `trained_sample` were trained."""

MOMENTS = 40
"""How often a file is damaged at random."""


def flip(file, random):
    """Turn one bit of a file."""
    content = bytearray(file.read_bytes())
    bit = random.randrange(8 * len(content))
    content[bit // 8] ^= 1 << bit % 8
    write(file, content, random)


def cut(file, random):
    """Cut a file off somewhere."""
    content = file.read_bytes()
    write(file, content[: random.randrange(len(content))], random)


def write(file, content, random):
    """Write so that this process, which remembers digests, sees that it was: its clock may not have moved since."""
    file.write_bytes(content)
    os.utime(file, ns=(0, random.getrandbits(60)))


DAMAGES = pytest.mark.parametrize("damage", [flip, cut])


def texts(name):
    words = " ".join(f"{name} {number}" for number in range(200))
    return pa.Table.from_pylist([{"text_id": name, "kind": "passage", "text": words}], schema=TEXTS)


@DAMAGES
@pytest.mark.parametrize("victim", ["a.parquet", "_manifest.json", "._manifest.json.sha256"])
def test_a_damaged_table_of_shards_is_refused_and_mended(tmp_path, damage, victim):
    dataset = ShardedTableDataset(filepath=str(tmp_path / "texts"))
    rewritten = []

    def make(names):
        rewritten.extend(names)
        return ((name, texts(name)) for name in names)

    plan = ShardPlan(origin="origin", keys=lambda: {"a": "key", "b": "key"}, make=make)
    dataset.save(plan)
    expected, file = dataset.load().to_table(), tmp_path / "texts" / victim
    for moment in range(MOMENTS):
        damage(file, Random(moment))
        refused = False
        try:
            assert dataset.load().to_table() == expected
        except DatasetError as error:
            assert str(tmp_path / "texts") in str(error) and "tage" in str(error)
            refused = True
        assert refused or victim.endswith("sha256")
        dataset.save(plan)
        assert dataset.load().to_table() == expected
    assert "b" not in rewritten[2:] or victim == "_manifest.json"


@DAMAGES
def test_a_damaged_table_is_refused_and_made_again(tmp_path, damage):
    file = tmp_path / "texts.parquet"
    dataset = TableDataset(filepath=str(file), table="texts")
    rebuilt = []
    plan = TablePlan("key", lambda: rebuilt.append(1) or [texts("a")])
    dataset.save(plan)
    for moment in range(MOMENTS):
        damage(file, Random(moment))
        with pytest.raises(DatasetError, match=r"texts\.parquet: is not the file that was written.*Run its stage"):
            dataset.load()
        dataset.save(plan)
        assert dataset.load().to_table() == texts("a")
    assert len(rebuilt) == 1 + MOMENTS


@DAMAGES
def test_damaged_json_is_refused_and_written_again(tmp_path, damage):
    file = tmp_path / "metrics.json"
    dataset = JSONDataset(filepath=str(file), optional=True)
    for moment in range(MOMENTS):
        dataset.save({"accuracy": 71.25, "seeds": [0, 1]})
        assert dataset.load() == {"accuracy": 71.25, "seeds": [0, 1]}
        damage(file, Random(moment))
        with pytest.raises(DatasetError, match=r"metrics\.json: is not the file that was written.*run its stage again"):
            dataset.load()


@DAMAGES
@pytest.mark.parametrize("victim", ["outcome.json", "trial.json", "model/model.safetensors", "model/reader.json"])
def test_a_damaged_trial_is_not_done(tmp_path, damage, victim, caplog):
    trial = Trial({"reader": "plain", "seed": 0, "benchmark": "sample"}, tmp_path)
    trial.model.mkdir(parents=True)
    for moment in range(MOMENTS):
        with trial.locked():
            (trial.model / "model.safetensors").write_bytes(bytes(range(200)))
            (trial.model / "reader.json").write_text('{"reader": "plain"}')
            outcome = trial.finish({"trial_id": trial.id, "seed": 0, "null_threshold": 0.125})
        assert trial.outcome() == outcome
        caplog.clear()
        damage(trial.folder / victim, Random(moment))
        if victim == "trial.json":  # The trial is known by its content; the record is written again.
            assert trial.outcome() == outcome and finished_trials(tmp_path) == []
        else:
            assert trial.outcome() is None
        if victim.endswith(("outcome.json", "trial.json")):
            assert f"{victim} is not what was written" in caplog.text


def checkpoint(folder, step, best):
    path = folder / f"checkpoint-{step}"
    path.mkdir(exist_ok=True)
    (path / "optimizer.pt").write_bytes(bytes(range(200)))
    state = {"best_model_checkpoint": best and str(folder / f"checkpoint-{best}")}
    (path / "trainer_state.json").write_text(json.dumps(state))
    (path / COMPLETE).write_text(digest_of_files(path, exclude=COMPLETE))
    return path


@DAMAGES
@pytest.mark.parametrize("victim", ["optimizer.pt", "trainer_state.json", COMPLETE])
def test_a_damaged_checkpoint_is_removed(tmp_path, damage, victim):
    for moment in range(MOMENTS):
        best, newest = checkpoint(tmp_path, 5, best=5), checkpoint(tmp_path, 10, best=5)
        assert last_checkpoint(tmp_path) == str(newest)
        damage(newest / victim, Random(moment))
        assert last_checkpoint(tmp_path) == str(best)
        assert not newest.exists()


def test_a_checkpoint_whose_best_one_is_damaged_is_not_gone_on_from(tmp_path):
    """The trainer would end with its last weights in the place of the best ones."""
    best, _ = checkpoint(tmp_path, 5, best=5), checkpoint(tmp_path, 10, best=5)
    flip(best / "optimizer.pt", Random(0))
    assert last_checkpoint(tmp_path) is None
    assert list(tmp_path.iterdir()) == []


def test_without_a_digest_a_file_is_taken_as_it_is(tmp_path):
    """Files of earlier versions have none, and whoever changes a file herself deletes it."""
    with write_with_checksum(tmp_path / "file") as temporary:
        np.save(temporary.open("wb"), np.arange(10))
    assert matches_checksum(tmp_path / "file")
    flip(tmp_path / "file", Random(0))
    assert not matches_checksum(tmp_path / "file")
    checksum_path(tmp_path / "file").unlink()
    assert matches_checksum(tmp_path / "file")


@DAMAGES
def test_damaged_answers_are_asked_again(trained_sample, run_trained, damage):
    (file,) = trial_of(trained_sample, "aoa_reader").glob("predictions-*.parquet")
    before = file.read_bytes()
    damage(file, Random(1))
    run_trained("evaluation", "sample.aoa_reader", benchmarks=EXACT)
    assert file.read_bytes() == before and matches_checksum(file)


@DAMAGES
def test_damaged_weights_answer_nothing(trained_sample, run_trained, damage):
    trial = trial_of(trained_sample, "aoa_reader")
    (trained_sample / "asked.jsonl").write_text('{"passage": "It is here .", "question": "The _ is here ."}\n')
    weights = trial / "model" / "model.safetensors"
    before = weights.read_bytes()
    damage(weights, Random(1))
    try:
        with pytest.raises(CoattendError, match="is not the reader that was trained"):
            run_trained("prediction", prediction={"model": trial.name, "input": "asked.jsonl"})
        with pytest.raises(CoattendError, match=r"is missing or is not what was trained.*Run the training pipeline"):
            run_trained("evaluation", "sample.aoa_reader", benchmarks=EXACT)
    finally:
        weights.write_bytes(before)
