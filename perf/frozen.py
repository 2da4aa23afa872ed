"""What training over a frozen encoder saves: DUMA on DREAM, fine-tuned and frozen, once the encoder has read all.

By whole trials, with what each reads, scores and writes beside its steps, and by their steps alone.
"""

import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

from coattend.training.fit import Work
from coattend.training.kept_states import KeptStates
from perf.alternate import alternate, ratio
from perf.prepared import Prepared
from perf.recipes import of_each, ours

QUESTIONS = 400
OF_A_TRIAL = {"max_questions": 64, "epochs": 1, "evaluations": 1}


def measure(prepared: Prepared, rounds: int, batches: int) -> dict[str, Any]:
    """How much faster a trial and a step are, and the size of what is kept."""
    given = {"max_questions": QUESTIONS}
    benchmark = prepared.either("dream")
    tuned = prepared.plan(benchmark, "duma", training=given)
    frozen = prepared.plan(benchmark, "duma", training=given | {"frozen": True})
    train, _ = tuned.training_questions()
    with tempfile.TemporaryDirectory() as folder:
        states = frozen.kept(frozen.build(train), train, Path(folder, "trials"))
        recipes = {"frozen": ours(frozen, train, kept=in_memory(states)), "tuned": ours(tuned, train)}
        for recipe in recipes.values():
            recipe.step(recipe.batches[-1])
        rates = alternate(of_each(recipes, batches), rounds)
        kept = states.states.nbytes
    return {
        "benchmark": benchmark,
        "trial_faster": trials(prepared, benchmark, rounds),
        "faster": ratio(rates["frozen"], rates["tuned"]),
        "kept_kib_per_question": round(kept / 1024 / len(train.examples), 1),
    }


def trials(prepared: Prepared, benchmark: str, rounds: int) -> dict[str, float]:
    """The time of a fine-tuned trial over that of a frozen one; each round has a seed of its own."""
    with tempfile.TemporaryDirectory() as folder:

        def timed(frozen: bool) -> Callable[[], float]:
            plan = prepared.plan(benchmark, "duma", training=OF_A_TRIAL | {"frozen": frozen})
            work, seeds = Work.of(plan, Path(folder)), count()

            def seconds() -> float:
                began = time.perf_counter()
                _, error = work.attempt(next(seeds))
                if error is not None:
                    raise error
                return time.perf_counter() - began

            return seconds

        taken = alternate({"tuned": timed(False), "frozen": timed(True)}, rounds, warm_up=1)
    return ratio(taken["tuned"], taken["frozen"])


def in_memory(states: KeptStates) -> KeptStates:
    """The same, read once, as a machine's cache of files has them after the first epoch."""
    return replace(states, states=states.states.copy())
