"""The trainings of the tables, by several processes that share the GPU, until the time is over.

Processes take trainings from one list, the most worthy first. What has ended is written at once; a training that is cut
off goes on from its last checkpoint, as long as the machine is the same.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from coattend.inference.predict import compute_predictions
from coattend.schemas import PREDICTIONS
from coattend.training.run_trial import TrialRunner
from coattend.trials.experiment import Experiment
from perf.gpu.machine import Deadline, Pack, device
from perf.gpu.plan import WORKERS
from perf.gpu.results import Results

SAVING = 8.0
"""Seconds before its end at which a command stops its processes, to write what they have done."""

CPU_WORKERS = 2


def train_all(pack: Pack, results: Results, deadline: Deadline) -> bool:
    """Train what is left of the list; return True if nothing is left.

    Args:
        pack: The pack.
        results: What comes back, from this machine and from those before.
        deadline: When to stop.
    """
    for name in ("claims", "done"):
        (pack.work / name).mkdir(parents=True, exist_ok=True)
    # Claims are those of the processes of one command.
    for claim in (pack.work / "claims").iterdir():
        claim.unlink()
    for benchmark in pack.benchmarks:
        pack.tables(benchmark)
    # A rehearsal has few seconds to give.
    saving = SAVING if not pack.is_tiny else 0.0
    workers = _start_workers(pack, results, deadline.seconds - saving)
    try:
        while deadline.seconds > saving and any(worker.poll() is None for worker in workers):
            time.sleep(1)
            _gather(pack, results)
    finally:
        for worker in workers:
            worker.terminate()
        for worker in workers:
            worker.wait()
    _gather(pack, results)
    return not left(pack, results)


def _start_workers(pack: Pack, results: Results, seconds: float) -> list["subprocess.Popen[bytes]"]:
    count = WORKERS if device() == "cuda" else CPU_WORKERS
    threads = str(max(1, (os.cpu_count() or 1) // count))
    command = [sys.executable, str(pack.folder / "run.py"), "worker"]
    command += ["--out", str(results.folder), "--minutes", str(seconds / 60)]
    environment = os.environ | {"OMP_NUM_THREADS": threads, "TOKENIZERS_PARALLELISM": "false"}
    logs = [(pack.work / f"worker-{number}.txt").open("ab") for number in range(count)]
    workers = [subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=environment) for log in logs]
    for log in logs:
        log.close()
    return workers


def _gather(pack: Pack, results: Results) -> None:
    """Move what processes have finished to what comes back."""
    files = sorted((pack.work / "done").glob("*.json"))
    if files:
        outcomes = [json.loads(file.read_text()) for file in files]
        tables = [pq.read_table(file.with_suffix(".parquet")) for file in files]
        results.add(outcomes, tables)
        for file in files:
            file.unlink()
            file.with_suffix(".parquet").unlink()


def left(pack: Pack, results: Results) -> list[dict[str, Any]]:
    """Return the trainings that have not ended, neither here nor on an earlier machine."""
    ended = {outcome["key"] for outcome in results.outcomes()}
    ended |= {file.stem for file in (pack.work / "done").glob("*.json")}
    return [training for training in pack.about["trainings"] if training["key"] not in ended]


def work(pack: Pack, results: Results, deadline: Deadline) -> None:
    """Train as one of several processes: take one training after another until none is left."""
    for training in _claimed(pack, results, deadline):
        outcome, predictions = train(pack, training)
        file = pack.work / "done" / f"{training['key']}.json"
        pq.write_table(predictions, file.with_suffix(".parquet"))
        part = file.with_suffix(".part")
        part.write_text(json.dumps(outcome))
        part.replace(file)


def _claimed(pack: Pack, results: Results, deadline: Deadline) -> Iterator[dict[str, Any]]:
    """Yield trainings that no other process has taken: the first that fits into the time, else the first."""
    while deadline.seconds > 0:
        free = [training for training in left(pack, results) if not _claim(pack, training).exists()]
        fitting = [training for training in free if training["process_seconds"] <= deadline.seconds]
        if not free:
            return
        training = (fitting or free)[0]
        try:
            _claim(pack, training).touch(exist_ok=False)
        except FileExistsError:
            continue
        yield training


def _claim(pack: Pack, training: dict[str, Any]) -> Path:
    return pack.work.joinpath("claims", training["key"])


def train(pack: Pack, training: dict[str, Any]) -> tuple[dict[str, Any], pa.Table]:
    """Train a trial, or go on with it; return its record with its outcome, and its predictions."""
    experiment = pack.experiment_of(training["benchmark"], training["entry"])
    # A row of a table may be the trial of what is tuned, too. Teachers stay, beside those that learn from them.
    store, teaches = pack.work / "trials" / training["study"], training.get("teaches", False)
    if teaches or "teacher" in training:
        store = pack.work / "trials" / "taught"
    if "teacher" in training:
        experiment = _taught(pack, training, experiment, store)
    outcome, error = TrialRunner(experiment, store, pack.training_questions(experiment)).attempt(training["seed"])
    predictions = PREDICTIONS.empty_table()
    if error is None:
        folder = store / outcome["folder"]
        predictions = compute_predictions(experiment, outcome, pack.evaluation_questions(experiment), folder)
        # The held-out scores are the curve that is looked at; losses of each tenth step would be its bulk.
        outcome["curve"] = [point for point in outcome["curve"] if point["held_out"] is not None]
        if not teaches:
            shutil.rmtree(folder)
    return training | {"outcome": {name: value for name, value in outcome.items() if name != "unreadable"}}, predictions


def _taught(pack: Pack, training: dict[str, Any], experiment: Experiment, store: Path) -> Experiment:
    """Train the teacher of a training, unless that is done, and return the experiment with the teacher's trial."""
    seed, teacher = training["seed"], pack.experiment_of(training["benchmark"], training["teacher"])
    # If it fails, so does what learns from it.
    outcome, _ = TrialRunner(teacher, store, pack.training_questions(teacher)).attempt(seed)
    return replace(experiment, teacher_trials={seed: outcome["trial_id"]})
