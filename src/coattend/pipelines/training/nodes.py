"""Nodes of the training pipeline."""

from pathlib import Path
from typing import Any

import pyarrow.dataset as pads

from coattend.errors import CoattendError
from coattend.parameters import (
    LOCAL,
    BenchmarkParameters,
    EncoderParameters,
    EngineParameters,
    ReaderParameters,
    TokenizerParameters,
)


def train(
    questions: pads.Dataset,
    passages: pads.Dataset,
    tokens: pads.Dataset,
    trials: Path,
    benchmark: BenchmarkParameters,
    reader: ReaderParameters,
    encoder: EncoderParameters,
    tokenizer: TokenizerParameters,
    engine: EngineParameters = LOCAL,
    tags: pads.Dataset | None = None,
) -> dict[str, Any]:
    """Train a reader's trials, or find them done: one after the other, or on a cluster at once.

    Returns:
        The model: benchmark, reader, task, and what each trial came to.

    Raises:
        CoattendError: If every trial failed.
    """
    from coattend.training.fan_out import train_seeds
    from coattend.training.fit import train_all
    from coattend.training.plans import plan_of

    plan = plan_of(questions, passages, tokens, tags, benchmark, reader, encoder, tokenizer)
    outcomes = train_all(plan, trials) if engine.kind == "local" else train_seeds(plan, trials, engine=engine)
    if all(one.get("failure") for one in outcomes):
        raise CoattendError(f"every trial failed: {outcomes[0]['failure']}", where=f"{plan.benchmark}.{plan.name}")
    return {"benchmark": plan.benchmark, "reader": plan.name, "task": plan.source.task, "trials": outcomes}
