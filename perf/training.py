"""Training throughput: the product's recipe beside others of the same reader, and beside the processor's own limit."""

import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import torch

from coattend.batches.dataset import QuestionSet
from coattend.batches.feature_cache import CachedVectors
from coattend.training.run_trial import TrialRunner
from coattend.trials.build import build_reader, cached_features
from coattend.trials.experiment import Experiment
from perf.overhead import attempt
from perf.prepared import Prepared
from perf.recipes import Recipe, one_by_one, product_recipe, random_batches, rates_of, spread
from perf.timing import Step, alternate, ratio

PRODUCT = (4096, 384, 1536)
"""Sizes of the matrix product whose rate is the limit: a batch of tokens through a layer of MiniLM."""
LONGEST = 512
STOCK_SPAN: dict[str, Any] = {"max_length": 384, "stride": 128, "stride_counts": "overlap"}
"""Windows of the stock question-answering example, which pads each to the greatest length."""
FROZEN: dict[str, Any] = {"max_questions": 400, "epochs": 1, "evaluations": 1}
"""Length of a trial over a frozen encoder: fine-tuned, one takes a minute and a half on two cores."""


def options(prepared: Prepared, rounds: int, batches: int) -> dict[str, Any]:
    """The plain reader on DREAM beside the stock multiple-choice example's recipe and beside padding to 512."""
    experiment = prepared.experiment(prepared.either("dream"), "plain")
    recipes = recipes_of_options(experiment, experiment.training_questions().train)
    tokens = round(recipes["ours"].real_token_share(), 4)
    return compare(recipes, rounds, batches) | {"benchmark": experiment.benchmark, "real_tokens": tokens}


def recipes_of_options(experiment: Experiment, train: QuestionSet) -> dict[str, Recipe]:
    """Return the product's recipe and those beside it."""
    return {
        "ours": product_recipe(experiment, train),
        "stock": random_batches(experiment, train),
        "padded to 512": random_batches(experiment, train, pad_to=LONGEST),
    }


def spans(prepared: Prepared, rounds: int, batches: int) -> dict[str, Any]:
    """The plain reader on SQuAD 1.1 beside the recipe of the stock question-answering example."""
    experiment = prepared.experiment(prepared.either("squad_v1"), "plain")
    stock = prepared.experiment(experiment.benchmark, "plain", training=STOCK_SPAN)
    recipes = {
        "ours": product_recipe(experiment, experiment.training_questions().train),
        "stock": random_batches(stock, stock.training_questions().train, pad_to=STOCK_SPAN["max_length"]),
    }
    return compare(recipes, rounds, batches) | {"benchmark": experiment.benchmark}


def recurrent(prepared: Prepared, rounds: int, batches: int) -> dict[str, Any]:
    """AoA Reader and DCN+ beside reading each question alone; both ways have cached vectors of words in context."""
    figures = {}
    for reader, benchmark in (("aoa_reader", "cbt"), ("dcn_plus", "squad_v1")):
        experiment = prepared.experiment(prepared.either(benchmark), reader)
        train = experiment.training_questions().train
        with tempfile.TemporaryDirectory() as folder:
            cache = cached_features(experiment, build_reader(experiment, train), train, Path(folder, "trials"))
            recipes = {
                "ours": product_recipe(experiment, train, kept=cache),
                "one by one": one_by_one(experiment, train, kept=cache),
            }
            figures[reader] = compare(recipes, rounds, batches) | {"benchmark": experiment.benchmark}
    return figures


def frozen(prepared: Prepared, rounds: int, batches: int) -> dict[str, Any]:
    """DUMA on DREAM over a frozen encoder that has read all questions, beside fine-tuning: trials, and steps alone."""
    benchmark = prepared.either("dream")
    tuned = prepared.experiment(benchmark, "duma", training=FROZEN)
    experiment = prepared.experiment(benchmark, "duma", training=FROZEN | {"frozen": True})
    train = tuned.training_questions().train
    with tempfile.TemporaryDirectory() as folder:
        states = cached_features(experiment, build_reader(experiment, train), train, Path(folder, "trials"))
        recipes = {"ours": product_recipe(experiment, train, kept=states), "tuned": product_recipe(tuned, train)}
        steps = compare(recipes, rounds, batches)
        assert isinstance(states, CachedVectors)
        size = states.vectors.nbytes
        trials = {
            name: partial(train_one, TrialRunner.of(each, Path(folder, name)), count())
            for name, each in (("tuned", tuned), ("frozen", experiment))
        }
        seconds = alternate(trials, rounds, warm_up=1)
    return {
        "benchmark": benchmark,
        "trial_questions": FROZEN["max_questions"],
        "trial_faster": ratio(seconds["tuned"], seconds["frozen"]),
        "faster": steps["faster_than"]["tuned"],
        "percent_for_tensors": steps["percent_for_tensors"],
        "kept_kib_per_question": round(size / 1024 / len(train.examples), 1),
    }


def train_one(work: TrialRunner, seeds: "count[int]") -> float:
    """Train the trial of the next seed and return its seconds."""
    start = time.perf_counter()
    attempt(work, next(seeds))
    return time.perf_counter() - start


def compare(recipes: dict[str, Recipe], rounds: int, batches: int) -> dict[str, Any]:
    """Return each recipe's questions per second, the first one's lead, and its time for tensors."""
    for recipe in recipes.values():
        recipe.step(recipe.batches[-1])  # Warm up.
    product, shares = recipes["ours"], []

    def product_rate() -> float:
        rate = product.rate(batches)
        shares.append(product.last.tensors / (product.last.total - product.last.tensors))
        return rate

    rates = alternate(rates_of(recipes, batches) | {"ours": product_rate}, rounds)
    return {
        "questions_per_second": {name: round(statistics.median(values), 2) for name, values in rates.items()},
        "faster_than": {name: ratio(rates["ours"], rates[name]) for name in recipes if name != "ours"},
        "percent_for_tensors": round(100 * statistics.median(shares), 2),
        "precision": "bf16" if product.bf16 else "fp32",
    }


def rate(prepared: Prepared, rounds: int, batches: int) -> dict[str, Any]:
    """Floating-point operations per second of a training step, as a share of a matrix product's in its precision.

    A step takes 6 operations for each real token and parameter outside the embedding tables, and 12 x H x N a layer for
    each of the N tokens of a sequence in attention.
    """
    experiment = prepared.experiment(prepared.either("dream"), "plain")
    train = experiment.training_questions().train
    recipe = product_recipe(experiment, train)
    recipe.step(recipe.batches[-1])
    product = partial(product_rate, PRODUCT, torch.bfloat16 if recipe.bf16 else torch.float32)
    ways: dict[str, Step] = {"step": rate_of_operations(recipe, batches), "product": product}
    values = alternate(ways, rounds, warm_up=1)
    return {
        "gflops": {name: round(statistics.median(rates) / 1e9, 1) for name, rates in values.items()},
        "share": ratio(values["step"], values["product"]),
        "precision": "bf16" if recipe.bf16 else "fp32",
        "benchmark": experiment.benchmark,
    }


def rate_of_operations(recipe: Recipe, batches: int) -> Callable[[], float]:
    """Return a function that trains on a few batches, other ones each time, and returns the operations a second."""
    turns = count()

    def train() -> float:
        drawn = spread(recipe.batches, batches, next(turns))
        seconds = recipe.train(drawn).total
        return sum(operations(recipe, batch) for batch in drawn) / seconds

    return train


def operations(recipe: Recipe, batch: Sequence[int]) -> float:
    """Count the floating-point operations of a step on a batch, without padding; weights that layers share count for
    each of them."""
    model: Any = recipe.encoder.model
    encoder, shape = model.encoder, model.config
    shared = getattr(encoder, "albert_layer_groups", None)
    repeats = 1 if shared is None else shape.num_hidden_layers // len(shared)
    weights = repeats * sum(parameter.numel() for parameter in (encoder if shared is None else shared).parameters())
    lengths = [
        size + window[1] + recipe.collator.special_tokens
        for row in batch
        for size, window in zip(recipe.examples[row].lengths, recipe.examples[row].windows, strict=True)
    ]
    attention = 12 * shape.num_hidden_layers * shape.hidden_size * sum(length**2 for length in lengths)
    return float(6 * weights * sum(lengths) + attention)


def product_rate(sizes: tuple[int, int, int], dtype: torch.dtype, device: str = "cpu") -> float:
    """Return the floating-point operations a second of a product of matrices, of ``sizes`` (rows, inner, columns)."""
    rows, inner, columns = sizes
    left = torch.randn(rows, inner, dtype=dtype, device=device)
    right = torch.randn(inner, columns, dtype=dtype, device=device)
    seconds = []
    for _ in range(9):
        start = time.perf_counter()
        torch.mm(left, right)
        if device == "cuda":
            torch.cuda.synchronize()
        seconds.append(time.perf_counter() - start)
    return 2 * rows * inner * columns / statistics.median(seconds[2:])  # The first two choose kernels.
