"""Ways to train a reader: the product's, those of the stock example scripts, and that of the papers' released code.

All train the same reader with the same loss, dropout and optimizer (AdamW, fused). They differ in which questions share
a batch, how far these are padded, and in which precision they are multiplied. Timed is all of it: making the batch's
tensors, forward, backward, clipping and the optimizer's step.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple, cast

import numpy as np
import torch

from coattend.batches.collator import CachedFeatures, Collator
from coattend.batches.dataset import QuestionSet
from coattend.batches.examples import Example
from coattend.batches.sampler import LengthBuckets
from coattend.readers.batch import Batch
from coattend.readers.encoders.transformer import TransformerEncoder
from coattend.readers.reader import Reader
from coattend.trials.build import build_collator, build_reader
from coattend.trials.device import device_and_precision
from coattend.trials.experiment import Experiment

STOCK_BATCH = 8
"""Questions in a batch of the stock recipes."""


class StepTime(NamedTuple):
    """Seconds of training steps, and those of them that made the batches' tensors."""

    total: float
    tensors: float


@dataclass
class Recipe:
    """A way to train.

    Attributes:
        reader: The reader that is trained.
        examples: All training questions.
        batches: Rows of the examples that share a batch, over an epoch.
        collator: Makes a batch's tensors.
        bf16: Matrix products run in bf16.
        alone: Each question of a batch is read alone, and the gradients are summed.
        device: Where the reader computes.
        last: Times of the last call of `rate`.
    """

    reader: Reader
    examples: Sequence[Example]
    batches: Sequence[Sequence[int]]
    collator: Collator
    bf16: bool = False
    alone: bool = False
    device: str = "cpu"
    last: StepTime = field(init=False)

    def __post_init__(self) -> None:
        self.reader.to(self.device)
        trained = [parameter for parameter in self.reader.parameters() if parameter.requires_grad]
        self._optimizer = torch.optim.AdamW(trained, lr=1e-5, fused=True)
        self._round = 0

    @property
    def encoder(self) -> TransformerEncoder:
        """The reader's encoder, a transformer."""
        return cast(TransformerEncoder, self.reader.encoder)

    def rate(self, count: int) -> float:
        """Return an epoch's questions per second, estimated from batches of its equal parts; others at each call."""
        drawn = spread(self.batches, count, self._round)
        self._round += 1
        self.last = self.train(drawn)
        return len(self.examples) * count / (self.last.total * len(self.batches))

    def train(self, batches: Sequence[Sequence[int]]) -> StepTime:
        """Learn from batches. A GPU computes while the next batch is made, as in a training: it is waited for once."""
        start = time.perf_counter()
        tensors = sum(self.step(batch) for batch in batches)
        if self.device == "cuda":
            torch.cuda.synchronize()
        return StepTime(time.perf_counter() - start, tensors)

    def step(self, batch: Sequence[int]) -> float:
        """Learn from a batch; return the seconds in which its tensors were made."""
        collating = 0.0
        for rows in [[row] for row in batch] if self.alone else [batch]:
            before = time.perf_counter()
            tensors = self.collator([self.examples[row] for row in rows])
            collating += time.perf_counter() - before
            with torch.autocast(self.device, torch.bfloat16, enabled=self.bf16):
                loss = self.reader(Batch(**tensors).to(self.device)).loss
            (loss * (len(rows) / len(batch))).backward()
        torch.nn.utils.clip_grad_norm_(self.reader.parameters(), 1.0)
        self._optimizer.step()
        self._optimizer.zero_grad()
        return collating

    def real_token_share(self) -> float:
        """Return the share of an epoch's tokens that are no padding."""
        real = padded = 0
        for batch in self.batches:
            questions = [self.examples[row] for row in batch]
            sequences = sum(len(question.sequences) for question in questions)
            real += sum(question.tokens for question in questions) + self.collator.special_tokens * sequences
            padded += sequences * max(map(self.collator.sequence_length, questions))
        return real / padded


def buckets_of(experiment: Experiment, train: QuestionSet, collator: Collator) -> LengthBuckets:
    """Group questions of like length under the experiment's budget of tokens, as the training pipeline does."""
    budget = experiment.training.tokens_per_batch
    return collator.buckets(train.examples, tokens_per_batch=budget, shuffle=False)


def product_recipe(experiment: Experiment, train: QuestionSet, *, kept: CachedFeatures | None = None) -> Recipe:
    """Train as the training pipeline does, over cached outputs of the encoder if there are any."""
    reader = build_reader(experiment, train).train()
    collator = build_collator(experiment, reader, train, features=kept)
    device, bf16 = device_and_precision(experiment.training)
    batches = list(buckets_of(experiment, train, collator))
    return Recipe(reader, train.examples, batches, collator, bf16=bf16, device=device)


def random_batches(experiment: Experiment, train: QuestionSet, *, pad_to: int = 1, bf16: bool = False) -> Recipe:
    """Train on random batches, as the stock examples do: in fp32, their default, or with their option ``bf16``.

    Sequences are padded to a multiple of ``pad_to``: 1 pads to the longest of the batch, and the greatest length pads
    all of them to that.
    """
    reader = padded(build_reader(experiment, train)).train()
    collator = build_collator(experiment, reader, train).padded_to(pad_to)
    device, _ = device_and_precision(experiment.training)
    return Recipe(reader, train.examples, shuffled(len(train.examples)), collator, bf16=bf16, device=device)


def padded(reader: Reader) -> Reader:
    """Let a reader read padded sequences on a GPU, too, as stock models do."""
    if isinstance(reader.encoder, TransformerEncoder):
        reader.encoder.packing = None
    return reader


def one_by_one(experiment: Experiment, train: QuestionSet, *, kept: CachedFeatures | None = None) -> Recipe:
    """Train on random batches of which each question is read alone, unpadded, in the product's precision."""
    reader = build_reader(experiment, train).train()
    collator = build_collator(experiment, reader, train, features=kept).padded_to(1)
    batches = shuffled(len(train.examples))
    device, bf16 = device_and_precision(experiment.training)
    return Recipe(reader, train.examples, batches, collator, bf16=bf16, alone=True, device=device)


def shuffled(count: int) -> list[list[int]]:
    """Draw random batches of stock size."""
    order = np.random.default_rng(0).permutation(count)
    return [order[first : first + STOCK_BATCH].tolist() for first in range(0, count, STOCK_BATCH)]


def spread(batches: Sequence[Sequence[int]], count: int, turn: int) -> list[Sequence[int]]:
    """Take batches from the middle of equal parts of an epoch, so that their mean time is an epoch's."""
    part = len(batches) / count
    return [batches[(int(part * (index + 0.5)) + turn) % len(batches)] for index in range(count)]


def rates_of(recipes: dict[str, Recipe], count: int) -> dict[str, Callable[[], float]]:
    """Return each recipe's rate as a step that can be timed."""
    return {name: partial(recipe.rate, count) for name, recipe in recipes.items()}
