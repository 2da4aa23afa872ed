"""Do the ways to be fast change what is learned? The plain reader on the sample, three seeds of each, scored on dev."""

import tempfile
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from coattend.readers.reader import Reader
from coattend.training import fit
from coattend.training.batching import LengthBuckets
from coattend.training.marking import held_out_score
from perf.prepared import SAMPLE, Prepared

SEEDS = (0, 1, 2)
TRAINING: dict[str, Any] = {}
"""Differences from how the sample is trained on."""


class AtRandom(LengthBuckets):
    """About as many batches, of questions as chance has them."""

    def __init__(self, lengths: np.ndarray, sequences: np.ndarray, **how: Any) -> None:
        alike = (np.full_like(numbers, round(numbers.mean())) for numbers in (lengths, sequences))
        super().__init__(*alike, **how)


WAYS: dict[str, tuple[dict[str, Any], type[LengthBuckets]]] = {
    "as it is": ({}, LengthBuckets),
    "in fp32": ({"precision": "fp32"}, LengthBuckets),
    "questions meet at random": ({}, AtRandom),
}
"""Differences in training and in batches by name."""


def measure(prepared: Prepared, rounds: int, batches: int) -> dict[str, Any]:
    """Accuracy on dev in percent of each way, seed by seed; rounds and batches are of no use here."""
    return {"ways": {name: _accuracies(prepared, *way) for name, way in WAYS.items()}}


def _accuracies(prepared: Prepared, training: dict[str, Any], kind: type[LengthBuckets]) -> list[float]:
    plan = prepared.plan(SAMPLE, "plain", training=TRAINING | training)
    asked, found = plan.source.scored(plan.training), []
    with tempfile.TemporaryDirectory() as folder, patch.object(fit, "LengthBuckets", kind):
        work = fit.Work.of(plan, Path(folder))
        for seed in SEEDS:
            _, error = work.attempt(seed)
            if error is not None:
                raise error
            reader = Reader.load(work.trial(seed).model)
            found.append(round(100 * held_out_score(plan.ask(reader, asked), asked), 1))
    return found
