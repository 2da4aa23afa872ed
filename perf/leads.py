"""What each way to be fast brings: our training step beside the same step without it, all else equal.

What was expected comes from profiles of a plain loop on two cores with matrix units, and from arithmetic. A lead that
did not hold is measured too, and is not in our step. Dropout is 0 on both sides of every row but one, as it is by
default where MiniLM is trained here (``conf/base/parameters/encoders.yml``), and as ALBERT v2's own configuration and
DUMA's released code have it. It changes the mathematics: what 0.1 costs is a row, and counts in no other ratio.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import torch

from coattend.readers.encoders.attention import NAME as OWN_ATTENTION
from perf.alternate import alternate, ratio
from perf.prepared import Prepared
from perf.recipes import STOCK_BATCH, Recipe, of_each, ours, shuffled


class Lead(NamedTuple):
    """A way to be fast.

    Attributes:
        what: What is done.
        expected: How many times faster it should be, and by what.
        kept: Whether our step does it.
    """

    what: str
    expected: str
    kept: str


LEADS = {
    "buckets": Lead(
        "questions of like length meet, under a budget of tokens", "2.2 x: 1.37 questions a second after 0.61", "yes"
    ),
    "bf16": Lead("matrix products in bf16", "1.6 x: 2.17 questions a second after 1.37", "where the processor has it"),
    "few lengths": Lead(
        "lengths are rounded up to a few", "1.0 x: it is done for memory, which kernels of every shape fill", "yes"
    ),
    "own attention": Lead("attention by the fastest kernel for each shape", "1.05 x: half of its tenth", "yes"),
    "fused optimizer": Lead("AdamW in one pass over each weight", "1.03 x: by the bytes it moves", "yes"),
    "no dropout": Lead(
        "dropout 0 in place of 0.1",
        "1.4 x: 31 % of the time went into masks",
        "yes, as MiniLM's default; another mathematics, and in every peer's step, too",
    ),
    "compiled": Lead("`torch.compile`, once it is compiled", "2 x, in a noisy run", "no"),
}
"""The ways to be fast by name, in the order of the page."""


def measure(prepared: Prepared, rounds: int, batches: int) -> dict[str, Any]:
    """How many times faster the plain reader learns on DREAM with each of them."""
    plan = prepared.plan(prepared.either("dream"), "plain")
    train, _ = plan.training_questions()

    def own() -> Recipe:
        return ours(plan, train)

    without = {
        "buckets": replace(own(), batches=shuffled(len(train.examples), STOCK_BATCH)),
        "bf16": replace(own(), bf16=False),
        "few lengths": _padded_to_the_longest(own()),
        "own attention": _attending(own(), "sdpa"),
        "fused optimizer": replace(own(), fused=False),
        "no dropout": ours(prepared.plan(plan.benchmark, "plain", dropout=0.1), train),
    }
    said = alternate(of_each({"ours": own(), **without, "compiled": _compiled(own())}, batches), rounds, warm_up=1)
    faster = {name: ratio(said["ours"], said[name]) for name in without}
    return {"benchmark": plan.benchmark, "faster": faster | {"compiled": ratio(said["compiled"], said["ours"])}}


def _padded_to_the_longest(recipe: Recipe) -> Recipe:
    recipe.collator = recipe.collator.padded_to(1)
    return recipe


def _attending(recipe: Recipe, how: str) -> Recipe:
    model = recipe.reader.encoder.model
    if model.config._attn_implementation != OWN_ATTENTION:
        raise SystemExit("this encoder does not attend as readers do: nothing to compare")
    model.set_attn_implementation(how)
    return recipe


def _compiled(recipe: Recipe) -> Recipe:
    recipe.reader.encoder.model = torch.compile(recipe.reader.encoder.model, dynamic=True)
    return recipe
