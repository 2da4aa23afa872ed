"""The cost of a study's hundred trials beside their training: finding that they are done, and all but their steps."""

import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

from coattend.evaluation.records import TrialRecord
from coattend.training.run_trial import TrialRunner
from perf.prepared import SAMPLE, Prepared
from perf.timing import alternate

TRIALS = 100
SMALL = {"seeds": [0], "max_questions": 8, "epochs": 1, "evaluations": 1}
ONE_STEP = SMALL | {"tokens_per_batch": 100_000}
TINY = {"hidden": 8, "vectors": "random", "vector_width": 8}


def measure(prepared: Prepared, rounds: int, batches: int) -> dict[str, Any]:
    """Time going through trials that are done, and new trials without their steps."""
    done, new = revisit_trials(prepared, rounds), train_tiny_trials(prepared)
    return {"trials": TRIALS, "done_seconds": round(done, 3), "new_seconds": round(new, 3)}


def revisit_trials(prepared: Prepared, rounds: int) -> float:
    """Return the seconds for finding that trials of the plain reader are done, their questions read already.

    Every file of theirs is read again, as in a new process, which remembers no digest.
    """
    experiment = prepared.experiment(SAMPLE, "plain", training=SMALL)
    with tempfile.TemporaryDirectory() as folder:
        work = TrialRunner.of(experiment, Path(folder, "trials"))
        outcome = attempt(work, 0)
        for seed in range(1, TRIALS):  # As if it had been trained: training's time is not measured here.
            trial = work.trial(seed)
            shutil.copytree(work.trial(0).model, trial.model)
            trial.finish({key: value for key, value in outcome.items() if key not in trial.content} | {"seed": seed})

        def revisit() -> float:
            # A file with a new time of change is read again.
            for path in Path(folder).rglob("*"):
                os.utime(path)
            start = time.perf_counter()
            for seed in range(TRIALS):
                work.attempt(seed)
            return time.perf_counter() - start

        return sorted(alternate({"trials": revisit}, rounds)["trials"])[rounds // 2]


def train_tiny_trials(prepared: Prepared) -> float:
    """Return the seconds of new trials of a tiny reader of words, one step each, less those of training."""
    experiment = prepared.experiment(SAMPLE, "aoa_reader", training=ONE_STEP, **TINY)
    with tempfile.TemporaryDirectory() as folder:
        work = TrialRunner.of(experiment, Path(folder, "trials"))
        attempt(work, TRIALS)  # Warm up.
        start = time.perf_counter()
        training = sum(attempt(work, seed)["seconds"] for seed in range(TRIALS))
        return time.perf_counter() - start - training


def attempt(work: TrialRunner, seed: int) -> TrialRecord:
    """Train a trial, or find that it is done, and return its outcome."""
    outcome, error = work.attempt(seed)
    if error is not None:
        raise error
    return outcome
