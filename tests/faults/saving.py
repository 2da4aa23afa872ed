"""Saves that a kill interrupts: one of each artifact that stages write."""

import json
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa

from coattend.data.download import fetch as fetched
from coattend.io.atomic import reserve_space, write_with_checksum
from coattend.io.checked import JSONDataset, TableDataset, TablePlan
from coattend.io.sharded import ShardedTableDataset, ShardPlan
from coattend.schemas import TEXTS
from coattend.tracking.store import this_process
from coattend.trials.trial import Trial

NAMES = ("a", "b")


def texts(name: str, version: str) -> pa.Table:
    """A table of one row."""
    return pa.Table.from_pylist([{"text_id": name, "kind": "passage", "text": version}], schema=TEXTS)


def shards(folder: str, version: str) -> None:
    """Save a table of shards, of which `version` changes the first."""
    keys = {name: version if name == "a" else "same" for name in NAMES}

    def make(names):
        return ((name, texts(name, keys[name])) for name in names)

    ShardedTableDataset(filepath=folder).save(ShardPlan(origin=version, keys=lambda: keys, make=make))


def table(folder: str, version: str) -> None:
    """Save a table of one file."""
    plan = TablePlan(version, lambda: [texts(name, version) for name in NAMES])
    TableDataset(filepath=f"{folder}/texts.parquet", table="texts").save(plan)


def metrics(folder: str, version: str) -> None:
    """Save JSON."""
    JSONDataset(filepath=f"{folder}/metrics.json").save({"version": version})


def trial(folder: str, version: str) -> None:
    """Finish a trial, unless it is done."""
    saved = Trial({"reader": "plain", "seed": 0, "version": version}, Path(folder))
    with saved.locked():
        if saved.outcome() is None:
            saved.model.mkdir(exist_ok=True)
            (saved.model / "model.safetensors").write_bytes(b"weights")
            saved.finish({"trial_id": saved.id, "held_out": 0.5})


def load(artifact: str, folder: str) -> list[dict]:
    """Load an artifact in a form that can be compared, or raise an error if it is incomplete."""
    if artifact == "shards":
        return ShardedTableDataset(filepath=folder).load().to_table().to_pylist()
    if artifact == "table":
        return TableDataset(filepath=f"{folder}/texts.parquet", table="texts").load().to_table().to_pylist()
    if artifact == "metrics":
        return [JSONDataset(filepath=f"{folder}/metrics.json").load()]
    versions = [json.loads(file.read_text())["version"] for file in sorted(Path(folder).glob("*/trial.json"))]
    trials = [Trial({"reader": "plain", "seed": 0, "version": version}, Path(folder)) for version in versions]
    return [outcome for saved in trials if (outcome := saved.outcome()) is not None]


def fetch(folder: str, url: str) -> None:
    """Fetch a file."""
    fetched(url, Path(folder) / "file.json", wait=lambda _: None)


def vectors(folder: str) -> None:
    """Write more vectors than there is room for, through memory that is mapped."""
    with write_with_checksum(Path(folder) / "vectors.npy") as file:
        mapped = np.lib.format.open_memmap(file, "w+", np.float32, (1000, 1000))
        reserve_space(file)
        mapped[:] = 1


def fill(folder: str) -> None:
    """Take all that is left of a disk."""
    with Path(folder, "filling").open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(b"0" * 512)


def free(folder: str) -> None:
    """Give it back."""
    Path(folder, "filling").unlink()


def show(artifact: str, folder: str) -> None:
    """Print what is there."""
    print(load(artifact, folder))


def at_once(folder: str, rounds: int) -> None:
    """Save everything again and again, in versions that change."""
    for number in range(rounds):
        for writer in (shards, table, metrics, trial):
            writer(f"{folder}/{writer.__name__}", f"version {number % 2}")
            load(writer.__name__, f"{folder}/{writer.__name__}")


def tag() -> None:
    """Print whose run this process's would be."""
    print(this_process())
