"""What training over a frozen encoder saves: DUMA on DREAM, fine-tuned and frozen, once the encoder has read all."""

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from coattend.training.kept_states import KeptStates
from perf.alternate import alternate, ratio
from perf.prepared import Prepared
from perf.recipes import of_each, ours

QUESTIONS = 400


def measure(prepared: Prepared, rounds: int, batches: int) -> dict[str, Any]:
    """Questions a second that each is trained on, and the size of what is kept."""
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
        "faster": ratio(rates["frozen"], rates["tuned"]),
        "kept_kib_per_question": round(kept / 1024 / len(train.examples), 1),
    }


def in_memory(states: KeptStates) -> KeptStates:
    """The same, read once, as a machine's cache of files has them after the first epoch."""
    return replace(states, states=states.states.copy())
