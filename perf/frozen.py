"""What training over a frozen encoder saves: DUMA on DREAM, fine-tuned and frozen, once the encoder has read all.

By whole trials, with what each reads, scores and writes beside its steps, and by their steps alone.
"""

import tempfile
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

from coattend.training.fit import Work
from perf.alternate import alternate, ratio
from perf.prepared import Prepared
from perf.recipes import ours
from perf.training import compare

TRAINING: dict[str, Any] = {"max_questions": 400, "epochs": 1, "evaluations": 1}
"""How long a trial is: fine-tuned, one takes a minute and a half on two cores, and there is one in every round."""


def measure(prepared: Prepared, rounds: int, batches: int) -> dict[str, Any]:
    """How much faster a trial and a step are, what tensors take of a step, and the size of what is kept."""
    benchmark = prepared.either("dream")
    tuned = prepared.plan(benchmark, "duma", training=TRAINING)
    frozen = prepared.plan(benchmark, "duma", training=TRAINING | {"frozen": True})
    train, _ = tuned.training_questions()
    with tempfile.TemporaryDirectory() as folder:
        states = frozen.kept(frozen.build(train), train, Path(folder, "trials"))
        steps = compare({"ours": ours(frozen, train, kept=states), "tuned": ours(tuned, train)}, rounds, batches)
        kept = states.states.nbytes
    return {
        "benchmark": benchmark,
        "trial_questions": TRAINING["max_questions"],
        "trial_faster": trials(prepared, benchmark, rounds),
        "faster": steps["faster_than"]["tuned"],
        "percent_for_tensors": steps["percent_for_tensors"],
        "kept_kib_per_question": round(kept / 1024 / len(train.examples), 1),
    }


def trials(prepared: Prepared, benchmark: str, rounds: int) -> dict[str, float]:
    """The time of a fine-tuned trial over that of a frozen one; each round has a seed of its own."""
    with tempfile.TemporaryDirectory() as folder:

        def timed(frozen: bool) -> Callable[[], float]:
            plan = prepared.plan(benchmark, "duma", training=TRAINING | {"frozen": frozen})
            work, seeds = Work.of(plan, Path(folder, "trials")), count()

            def seconds() -> float:
                began = time.perf_counter()
                _, error = work.attempt(next(seeds))
                if error is not None:
                    raise error
                return time.perf_counter() - began

            return seconds

        taken = alternate({"tuned": timed(False), "frozen": timed(True)}, rounds, warm_up=1)
    return ratio(taken["tuned"], taken["frozen"])
