"""Training throughput: our recipe beside others of the same reader, and beside what the processor can multiply."""

import statistics
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import torch

from coattend.training.data import QuestionSet
from coattend.training.plan import Plan
from perf.alternate import alternate, ratio
from perf.prepared import Prepared
from perf.recipes import Recipe, at_random, of_each, one_by_one, ours, spread

PRODUCT = (4096, 384, 1536)
"""Of which sizes the product is whose rate is the limit: a batch of tokens through a layer of MiniLM."""

LONGEST = 512
STOCK_SPAN = {"max_length": 384, "stride": 128, "stride_counts": "overlap"}
"""How the stock question-answering example cuts passages; it pads every window to the greatest length."""


def options(prepared: Prepared, rounds: int, batches: int) -> dict[str, Any]:
    """The plain reader on DREAM: ours, the stock multiple-choice example's recipe, and padding to 512."""
    plan = prepared.plan(prepared.either("dream"), "plain")
    train, _ = plan.training_questions()
    recipes = recipes_of_options(plan, train)
    tokens = round(real_tokens(recipes["ours"]), 4)
    return compare(recipes, rounds, batches) | {"benchmark": plan.benchmark, "real_tokens": tokens}


def recipes_of_options(plan: Plan, train: QuestionSet) -> dict[str, Recipe]:
    """Ours, and those beside it."""
    return {
        "ours": ours(plan, train),
        "stock": at_random(plan, train),
        "padded to 512": at_random(plan, train, pad_to=LONGEST),
    }


def spans(prepared: Prepared, rounds: int, batches: int) -> dict[str, Any]:
    """The plain reader on SQuAD 1.1: ours, and the recipe of the stock question-answering example."""
    plan = prepared.plan(prepared.either("squad_v1"), "plain")
    stock = prepared.plan(plan.benchmark, "plain", training=STOCK_SPAN)
    recipes = {
        "ours": ours(plan, plan.training_questions()[0]),
        "stock": at_random(stock, stock.training_questions()[0], pad_to=STOCK_SPAN["max_length"]),
    }
    return compare(recipes, rounds, batches) | {"benchmark": plan.benchmark}


def recurrent(prepared: Prepared, rounds: int, batches: int) -> dict[str, Any]:
    """AoA Reader and DCN+: ours, and each question read alone; vectors of words in context are kept for both ways."""
    found = {}
    for reader, name in (("aoa_reader", "cbt"), ("dcn_plus", "squad_v1")):
        plan = prepared.plan(prepared.either(name), reader)
        train, _ = plan.training_questions()
        with tempfile.TemporaryDirectory() as folder:
            kept = plan.kept(plan.build(train), train, Path(folder, "trials"))
            recipes = {"ours": ours(plan, train, kept=kept), "one by one": one_by_one(plan, train, kept=kept)}
            found[reader] = compare(recipes, rounds, batches) | {"benchmark": plan.benchmark}
    return found


def compare(recipes: dict[str, Recipe], rounds: int, batches: int) -> dict[str, Any]:
    """Questions a second of each recipe, how much faster the first one is, and what its tensors take of a step."""
    for recipe in recipes.values():
        recipe.step(recipe.batches[-1])  # Warm up.
    making: list[float] = []
    steps = of_each(recipes, batches)
    first = recipes["ours"]

    def counted() -> float:
        rate = first.rate(batches)
        making.append(first.seconds[1] / (first.seconds[0] - first.seconds[1]))
        return rate

    rates = alternate(steps | {"ours": counted}, rounds)
    return {
        "questions_per_second": {name: round(statistics.median(values), 2) for name, values in rates.items()},
        "faster_than": {name: ratio(rates["ours"], rates[name]) for name in recipes if name != "ours"},
        "percent_for_tensors": round(100 * statistics.median(making), 2),
        "precision": "bf16" if first.bf16 else "fp32",
    }


def rate(prepared: Prepared, rounds: int, batches: int) -> dict[str, Any]:
    """Floating-point operations a second of our training step, and how much that is of a product's in its precision.

    A step takes 6 operations for each real token and parameter outside the embedding tables, and 12 x H x N a layer for
    each of the N tokens of a sequence in attention.
    """
    plan = prepared.plan(prepared.either("dream"), "plain")
    train, _ = plan.training_questions()
    recipe = ours(plan, train)
    recipe.step(recipe.batches[-1])
    turns = iter(range(10**9))

    def step() -> float:
        drawn = spread(recipe.batches, batches, next(turns))
        seconds = sum(recipe.step(batch)[0] for batch in drawn)
        return sum(operations(recipe, train, batch) for batch in drawn) / seconds / 1e9

    limit = partial(product, torch.bfloat16 if recipe.bf16 else torch.float32)
    found = alternate({"step": step, "product": limit}, rounds, warm_up=1)
    return {
        "gflops": {name: round(statistics.median(values), 1) for name, values in found.items()},
        "share": ratio(found["step"], found["product"]),
        "precision": "bf16" if recipe.bf16 else "fp32",
        "matrix_units": _has_matrix_units(),
        "benchmark": plan.benchmark,
    }


def operations(recipe: Recipe, train: QuestionSet, batch: list[int]) -> float:
    """Floating-point operations of a step on a batch, padding not counted."""
    encoder = recipe.reader.encoder.model.encoder
    weights = sum(one.numel() for one in encoder.parameters())
    shape = recipe.reader.encoder.model.config
    lengths = [
        size + window[1] + recipe.collator.special_tokens
        for row in batch
        for size, window in zip(train.examples[row].lengths, train.examples[row].windows, strict=True)
    ]
    attention = 12 * shape.num_hidden_layers * shape.hidden_size * sum(length**2 for length in lengths)
    return 6 * weights * sum(lengths) + attention


def product(kind: torch.dtype) -> float:
    """Billions of floating-point operations a second of a product of matrices, as the median of some."""
    rows, inner, columns = PRODUCT
    left, right = torch.randn(rows, inner, dtype=kind), torch.randn(inner, columns, dtype=kind)
    seconds = []
    for _ in range(9):
        began = time.perf_counter()
        torch.mm(left, right)
        seconds.append(time.perf_counter() - began)
    return 2 * rows * inner * columns / statistics.median(seconds) / 1e9


def real_tokens(recipe: Recipe) -> float:
    """Share of the tokens in a recipe's batches that are not padding."""
    real = padded = 0
    for batch in recipe.batches:
        questions = [recipe.examples[row] for row in batch]
        rows = sum(len(example.sequences) for example in questions)
        real += sum(example.tokens + recipe.collator.special_tokens * len(example.sequences) for example in questions)
        padded += rows * max(map(recipe.collator.sequence_length, questions))
    return real / padded


def turns(prepared: Prepared, rounds: int, batches: int) -> dict[str, Any]:
    """What each turn of iterative co-attention adds to a training step, all else equal."""
    recipes = {}
    for count in (0, 1, 3):
        plan = prepared.plan(prepared.either("dream"), "poi_net", turns=count)
        train, _ = plan.training_questions()
        recipes[f"{count}"] = ours(plan, train)
    middle = recipes["0"].batches[len(recipes["0"].batches) // 2]
    steps = {name: lambda recipe=recipe: recipe.step(middle)[0] for name, recipe in recipes.items()}
    seconds = alternate(steps, 3 * rounds, warm_up=2)
    added = [(three - one) / 2 / zero for zero, one, three in zip(*seconds.values(), strict=True)]
    return {
        "seconds": {name: round(statistics.median(values), 4) for name, values in seconds.items()},
        "percent_per_turn": round(100 * statistics.median(added), 2),
    }


def _has_matrix_units() -> bool:
    return bool(getattr(torch.cpu, "_is_amx_tile_supported", lambda: False)())
