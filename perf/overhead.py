"""What a study's hundred trials cost beside their training: finding out, for each, that it is done."""

import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

from coattend.training.fit import Work
from perf.alternate import alternate
from perf.prepared import SAMPLE, Prepared

TRIALS = 100
SMALL = {"seeds": [0], "max_questions": 8, "epochs": 1, "evaluations": 1}


def measure(prepared: Prepared, rounds: int, batches: int) -> dict[str, Any]:
    """Seconds of going through trials that are done, their questions read already, as a study's nodes do."""
    plan = prepared.plan(SAMPLE, "plain", training=SMALL)
    with tempfile.TemporaryDirectory() as folder:
        work = Work.of(plan, Path(folder))
        outcome, error = work.attempt(0)
        if error is not None:
            raise error
        for seed in range(1, TRIALS):  # As if it had been trained: what training takes is not asked here.
            trial = work.trial(seed)
            shutil.copytree(work.trial(0).model, trial.model)
            trial.finish({key: value for key, value in outcome.items() if key not in trial.content} | {"seed": seed})

        def go_through() -> float:
            began = time.perf_counter()
            for seed in range(TRIALS):
                work.attempt(seed)
            return time.perf_counter() - began

        seconds = sorted(alternate({"trials": go_through}, rounds)["trials"])
    return {"trials": TRIALS, "seconds": round(seconds[rounds // 2], 3)}
