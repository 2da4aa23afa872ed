"""Nodes of the training pipeline."""

from pathlib import Path
from typing import Any

import pyarrow.dataset as pads

from coattend.parameters import BenchmarkParameters, EncoderParameters, ReaderParameters, TokenizerParameters


def train(
    questions: pads.Dataset,
    passages: pads.Dataset,
    tokens: pads.Dataset,
    trials: Path,
    benchmark: BenchmarkParameters,
    reader: ReaderParameters,
    encoder: EncoderParameters,
    tokenizer: TokenizerParameters,
    tags: pads.Dataset | None = None,
) -> dict[str, Any]:
    """Train a reader's trials, or find them done.

    Returns:
        The model: benchmark, reader, task, and what each trial came to.
    """
    from coattend.training.fit import train_all
    from coattend.training.plans import plan_of

    plan = plan_of(questions, passages, tokens, tags, benchmark, reader, encoder, tokenizer)
    outcomes = train_all(plan, trials)
    return {"benchmark": plan.benchmark, "reader": plan.name, "task": plan.source.task, "trials": outcomes}
