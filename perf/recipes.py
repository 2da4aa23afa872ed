"""Ways to train a reader: ours, those of the stock example scripts, and that of the papers' released code.

All train the same reader with the same loss, dropout and optimizer (AdamW, fused). They differ in which questions meet
in a batch, how far these are padded, and in which precision they are multiplied. What is timed is all of it: making
the batch's tensors, forward, backward, clipping and the optimizer's step.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from coattend.readers.batch import Batch
from coattend.readers.reader import Reader
from coattend.training.batching import LengthBuckets
from coattend.training.collation import Collator, Kept
from coattend.training.data import QuestionSet
from coattend.training.examples import Example
from coattend.training.plan import Plan

STOCK_BATCH = 8
"""Questions a batch in the stock recipes."""


@dataclass
class Recipe:
    """A way to train.

    Attributes:
        reader: What is trained.
        examples: All training questions.
        batches: Which of them meet, over an epoch.
        collator: Makes a batch's tensors.
        bf16: Whether matrix products run in bf16.
        alone: Whether each question of a batch is read alone, its gradient added to the others'.
        fused: Whether the optimizer goes over each weight once.
        seconds: What the last call of `rate` took: in all, and for making tensors.
    """

    reader: Reader
    examples: Sequence[Example]
    batches: Sequence[Sequence[int]]
    collator: Collator
    bf16: bool = False
    alone: bool = False
    fused: bool = True
    seconds: tuple[float, float] = (0.0, 0.0)

    def __post_init__(self) -> None:
        self._optimizer = torch.optim.AdamW(
            [one for one in self.reader.parameters() if one.requires_grad], lr=1e-5, fused=self.fused
        )
        self._turn = 0

    def rate(self, count: int) -> float:
        """Questions a second over an epoch, as some batches from its equal parts have it; others at each call."""
        drawn = spread(self.batches, count, self._turn)
        self._turn += 1
        self.seconds = tuple(sum(both) for both in zip(*map(self.step, drawn), strict=True))  # type: ignore[assignment]
        epoch = self.seconds[0] / count * len(self.batches)
        return len(self.examples) / epoch

    def step(self, batch: Sequence[int]) -> tuple[float, float]:
        """Learn from a batch: seconds in all, and those for making tensors."""
        began, collating = time.perf_counter(), 0.0
        for rows in [[row] for row in batch] if self.alone else [batch]:
            start = time.perf_counter()
            tensors = self.collator([self.examples[row] for row in rows])
            collating += time.perf_counter() - start
            with autocast(self.bf16):
                loss = self.reader(Batch(**tensors)).loss
            (loss * (len(rows) / len(batch))).backward()
        torch.nn.utils.clip_grad_norm_(self.reader.parameters(), 1.0)
        self._optimizer.step()
        self._optimizer.zero_grad()
        return time.perf_counter() - began, collating


def autocast(enabled: bool) -> AbstractContextManager[Any]:
    """bf16 on a processor, or nothing."""
    return torch.autocast("cpu", torch.bfloat16, enabled=enabled)


def ours(plan: Plan, train: QuestionSet, *, kept: Kept | None = None) -> Recipe:
    """As the training pipeline does it.

    Args:
        plan: The reader.
        train: Its questions.
        kept: What was computed once of them, as `Plan.kept` has it.
    """
    reader = plan.build(train).train()
    collator = plan.collator(reader, train, kept=kept)
    how = {"tokens_per_batch": plan.training.tokens_per_batch, "shuffle": False}
    buckets = LengthBuckets.of(train.examples, collator.sequence_length, **how)
    return Recipe(reader, train.examples, list(buckets), collator, bf16=plan.precision()[1])


def at_random(plan: Plan, train: QuestionSet, *, pad_to: int = 1, batch: int = STOCK_BATCH) -> Recipe:
    """Questions as chance has them, in fp32.

    Args:
        plan: The reader.
        train: Its questions.
        pad_to: Sequences are padded to a multiple of this: 1 pads to the longest of the batch, and the greatest length
            all of them to that.
        batch: Questions a batch.
    """
    reader = plan.build(train).train()
    collator = plan.collator(reader, train).padded_to(pad_to)
    return Recipe(reader, train.examples, shuffled(len(train.examples), batch), collator)


def one_by_one(plan: Plan, train: QuestionSet, *, kept: Kept | None = None) -> Recipe:
    """As ours, but batches are as chance has them and each question is read alone, unpadded."""
    reader = plan.build(train).train()
    collator = plan.collator(reader, train, kept=kept).padded_to(1)
    batches = shuffled(len(train.examples), STOCK_BATCH)
    return Recipe(reader, train.examples, batches, collator, bf16=plan.precision()[1], alone=True)


def shuffled(count: int, batch: int) -> list[list[int]]:
    """Batches of questions as chance has them."""
    order = np.random.default_rng(0).permutation(count)
    return [order[first : first + batch].tolist() for first in range(0, count, batch)]


def spread(batches: Sequence[Sequence[int]], count: int, turn: int) -> list[Sequence[int]]:
    """Batches from the middle of equal parts of an epoch, so that their mean time is an epoch's; others every turn."""
    part = len(batches) / count
    return [batches[(int(part * (index + 0.5)) + turn) % len(batches)] for index in range(count)]


def of_each(recipes: dict[str, Recipe], count: int) -> dict[str, Callable[[], float]]:
    """Each recipe's rate."""
    return {name: lambda recipe=recipe: recipe.rate(count) for name, recipe in recipes.items()}
