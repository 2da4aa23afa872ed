"""Memory of a question: what a training step keeps of it for the backward pass, and the frozen protocol on disk."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from coattend.batches.feature_cache import CachedVectors
from coattend.readers.batch import Batch
from coattend.trials.build import build_reader, cached_features
from perf.passages import PASSAGES, about_passages, recipes_of
from perf.prepared import Prepared
from perf.recipes import Recipe, spread


def measure(prepared: Prepared, rounds: int, batches: int) -> dict[str, Any]:
    """Measure passages that are read once beside the joint encoder and the stock recipe, on options."""
    chosen: list[str] = [benchmark for benchmark in ("dream", "race") if benchmark in prepared.benchmarks]
    return {
        benchmark: {
            "mib_per_question": training(prepared, benchmark, batches),
            "frozen_kib_per_question": frozen(prepared, benchmark),
        }
        for benchmark in chosen or [prepared.either("dream")]
    }


def training(prepared: Prepared, benchmark: str, batches: int) -> dict[str, float]:
    """Return the MiB that a step keeps for its backward pass, for each question of its batch."""
    recipes = recipes_of(prepared, benchmark)
    return {name: round(kept_per_question(recipe, batches) / 2**20, 1) for name, recipe in recipes.items()}


def kept_per_question(recipe: Recipe, count: int) -> float:
    """Estimate from some batches the bytes that an epoch keeps for each question, without the weights."""
    # The tokens of batches are alike, their questions are not: a few have many.
    drawn = spread(recipe.batches, count, 0)
    return sum(_kept(recipe, rows) for rows in drawn) * len(recipe.batches) / (count * len(recipe.examples))


def _kept(recipe: Recipe, rows: Sequence[int]) -> int:
    weights = {parameter.untyped_storage().data_ptr() for parameter in recipe.reader.parameters()}
    sizes: dict[int, int] = {}

    def note(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights:
            sizes[storage.data_ptr()] = storage.nbytes()
        return tensor.detach()  # An output that its own step kept would keep that step.

    batch = Batch(**recipe.collator([recipe.examples[row] for row in rows])).to(recipe.device)
    kept = torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor)
    with kept, torch.autocast(recipe.device, torch.bfloat16, enabled=recipe.bf16):
        loss = recipe.reader(batch).loss
    assert loss is not None
    return sum(sizes.values())


def frozen(prepared: Prepared, benchmark: str) -> dict[str, float]:
    """Return the KiB that the frozen protocol keeps of each question about some passages."""
    sizes: dict[str, float] = {}
    for name, reader in (("ours", "plain_apart"), ("joint", "plain")):
        experiment = prepared.experiment(benchmark, reader, training={"frozen": True})
        questions = about_passages(experiment.training_questions().train, PASSAGES)
        with tempfile.TemporaryDirectory() as folder:
            states = cached_features(experiment, build_reader(experiment, questions), questions, Path(folder, "trials"))
            assert isinstance(states, CachedVectors)
            sizes[name] = round(states.vectors.nbytes / 1024 / len(questions.examples), 1)
    return sizes
