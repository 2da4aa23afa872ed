"""What a study's hundred trials cost beside their training: finding out that they are done, and all but their steps."""

import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

from coattend.text import identity
from coattend.training.fit import Work
from perf.alternate import alternate
from perf.prepared import SAMPLE, Prepared

TRIALS = 100
SMALL = {"seeds": [0], "max_questions": 8, "epochs": 1, "evaluations": 1}
ONE_STEP = SMALL | {"tokens_per_batch": 100_000}
TINY = {"hidden": 8, "vectors": "random", "vector_width": 8}
"""The smallest that a reader of words is here."""


def measure(prepared: Prepared, rounds: int, batches: int) -> dict[str, Any]:
    """Seconds of going through trials that are done, and those of new ones less their steps."""
    done, new = going_through(prepared, rounds), beside_steps(prepared)
    return {"trials": TRIALS, "done_seconds": round(done, 3), "new_seconds": round(new, 3)}


def going_through(prepared: Prepared, rounds: int) -> float:
    """Seconds of finding out that trials of the plain reader are done, their questions read already.

    Every file of theirs is read, as in a new process, which remembers no digest.
    """
    plan = prepared.plan(SAMPLE, "plain", training=SMALL)
    with tempfile.TemporaryDirectory() as folder:
        work = Work.of(plan, Path(folder, "trials"))
        outcome = attempted(work, 0)
        for seed in range(1, TRIALS):  # As if it had been trained: what training takes is not asked here.
            trial = work.trial(seed)
            shutil.copytree(work.trial(0).model, trial.model)
            trial.finish({key: value for key, value in outcome.items() if key not in trial.content} | {"seed": seed})

        def go_through() -> float:
            identity._digest.cache_clear()
            began = time.perf_counter()
            for seed in range(TRIALS):
                work.attempt(seed)
            return time.perf_counter() - began

        return sorted(alternate({"trials": go_through}, rounds)["trials"])[rounds // 2]


def beside_steps(prepared: Prepared) -> float:
    """Seconds of new trials of a tiny reader of words, one step each, less those that they count as training."""
    plan = prepared.plan(SAMPLE, "aoa_reader", training=ONE_STEP, **TINY)
    with tempfile.TemporaryDirectory() as folder:
        work = Work.of(plan, Path(folder, "trials"))
        attempted(work, TRIALS)  # Warm up.
        began = time.perf_counter()
        steps = sum(attempted(work, seed)["seconds"] for seed in range(TRIALS))
        return time.perf_counter() - began - steps


def attempted(work: Work, seed: int) -> dict[str, Any]:
    """What a trial came to."""
    outcome, error = work.attempt(seed)
    if error is not None:
        raise error
    return outcome
