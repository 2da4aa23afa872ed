"""Speed on one GPU: training and inference beside the stock recipes, and the share of the peak."""

import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from transformers import AlbertConfig, BertConfig, PretrainedConfig

from coattend import readers
from coattend.batches.dataset import QuestionSet
from coattend.readers.batch import Batch
from coattend.trials.build import build_collator, build_reader
from coattend.trials.device import device_name
from coattend.trials.experiment import Experiment
from perf.gpu.checks import Figures, compare_compiled
from perf.gpu.machine import Pack, device
from perf.passages import about_passages, rate_of_answers
from perf.recipes import Recipe, padded, product_recipe, random_batches, shuffled
from perf.timing import alternate, ratio
from perf.training import STOCK_SPAN, product_rate, rate_of_operations

ROUNDS, BATCHES = 3, 12
LARGE = (24576, 65536)
"""Tokens of batches that a GPU is kept busy by, beside those of the parameters, which suit a processor too."""

FULL = 32768
"""Tokens of a batch of a larger encoder."""

PEAKS = {"H100 PCIe": 756e12, "H100": 989e12, "H200": 989e12, "A100": 312e12}
"""Operations a second in bf16, without sparsity, as NVIDIA states them, by a part of the GPU's name."""

PRODUCT = 8192
ASKED_PASSAGES = 200


def training(pack: Pack, benchmark: str) -> Figures:
    """Train the plain reader on a benchmark, jointly and with passages read once, beside the stock recipe."""
    joint, apart = (pack.experiment(benchmark, name) for name in ("plain", "plain_apart"))
    recipes = {"stock": _stock(pack, joint), "stock, bf16": _stock(pack, joint, bf16=True)}
    for name, experiment in (("joint", joint), ("apart", apart)):
        train = pack.training_questions(experiment).train
        for budget in (experiment.training.tokens_per_batch, *LARGE):
            recipes[f"{name}, {budget}"] = product_recipe(_with_batches(experiment, budget), train)
    rounds, batches = _size(pack)
    for recipe in recipes.values():
        recipe.train(recipe.batches[-1:])  # Warm up.
    rates = alternate({name: partial(recipe.rate, batches) for name, recipe in recipes.items()}, rounds)
    best = {name: _best(rates, name) for name in ("joint", "apart")}
    return {
        "benchmark": benchmark,
        "questions_per_second": {name: round(statistics.median(values), 1) for name, values in rates.items()},
        "fastest": {name: round(statistics.median(rates[way]), 1) for name, way in best.items()},
        "faster_than_stock": {name: ratio(rates[way], rates["stock"]) for name, way in best.items()},
        "faster_than_stock_bf16": {name: ratio(rates[way], rates["stock, bf16"]) for name, way in best.items()},
    }


def _best(rates: dict[str, list[float]], name: str) -> str:
    ways = [way for way in rates if way.startswith(f"{name},")]
    return max(ways, key=lambda way: statistics.median(rates[way]))


def _stock(pack: Pack, experiment: Experiment, *, bf16: bool = False) -> Recipe:
    """Return the recipe of the stock example: multiple choice, or question answering with its windows."""
    if experiment.task != "span":
        return random_batches(experiment, pack.training_questions(experiment).train, bf16=bf16)
    stock = pack.experiment(experiment.benchmark, "plain", training=STOCK_SPAN)
    return random_batches(stock, pack.training_questions(stock).train, pad_to=STOCK_SPAN["max_length"], bf16=bf16)


def _with_batches(experiment: Experiment, budget: int) -> Experiment:
    return replace(experiment, training=experiment.training.model_copy(update={"tokens_per_batch": budget}))


def _size(pack: Pack) -> tuple[int, int]:
    return (1, 1) if pack.is_tiny else (ROUNDS, BATCHES)


def inference(pack: Pack) -> Figures:
    """Ask all questions about some passages: jointly, with passages read once, and in stock batches."""
    benchmark = pack.either("race")
    steps: dict[str, Callable[[], float]] = {}
    asked = 0
    for name in ("plain", "plain_apart"):
        experiment = _with_batches(pack.experiment(benchmark, name), LARGE[-1])
        questions = about_passages(pack.training_questions(experiment).train, 2 if pack.is_tiny else ASKED_PASSAGES)
        reader = build_reader(experiment, questions).to(device())
        steps[name] = partial(rate_of_answers, experiment, reader, questions)
        if name == "plain":
            asked = len(questions.examples)
            stock = padded(build_reader(experiment, questions).to(device()))
            for bf16 in (False, True):
                steps["stock, bf16" if bf16 else "stock"] = partial(_read, experiment, stock, questions, bf16=bf16)
    rates = alternate(steps, _size(pack)[0], warm_up=1)
    ways = {"joint": "plain", "apart": "plain_apart"}
    return {
        "benchmark": benchmark,
        "questions": asked,
        "questions_per_second": {name: round(statistics.median(values), 1) for name, values in rates.items()},
        "faster_than_stock": {name: ratio(rates[way], rates["stock"]) for name, way in ways.items()},
        "faster_than_stock_bf16": {name: ratio(rates[way], rates["stock, bf16"]) for name, way in ways.items()},
    }


def _read(experiment: Experiment, reader: Any, questions: QuestionSet, *, bf16: bool) -> float:
    """Read questions in random batches of stock size, padded to the longest."""
    collator = build_collator(experiment, reader, questions).padded_to(1)
    start = time.perf_counter()
    for rows in shuffled(len(questions.examples)):
        batch = Batch(**collator([questions.examples[row] for row in rows])).to(device())
        with torch.inference_mode(), torch.autocast(device(), torch.bfloat16, enabled=bf16):
            output = reader(batch)
        scores = output.scores if output.scores is not None else output.start
        scores.cpu()
    return len(questions.examples) / (time.perf_counter() - start)


def peak(pack: Pack) -> Figures:
    """Train encoders of BERT-base's and ALBERT-base's size with random weights, as a share of the GPU's peak."""
    experiment = _with_batches(pack.experiment(pack.either("race"), "plain"), 1024 if pack.is_tiny else FULL)
    train = pack.training_questions(experiment).train
    size = 64 if pack.is_tiny else PRODUCT
    product = product_rate((size, size, size), torch.bfloat16, device())
    stated = _stated_peak()
    figures: Figures = {"product_tflops": product / 1e12, "stated_tflops": stated and stated / 1e12}
    for name, config in _encoders(tiny=pack.is_tiny).items():
        recipe = _recipe(experiment, train, config)
        rounds, batches = _size(pack)
        rates = alternate({"step": rate_of_operations(recipe, batches)}, rounds, warm_up=1)["step"]
        limit = [stated or product] * len(rates)
        figures[name] = {
            "tflops": round(statistics.median(rates) / 1e12, 3),
            "share": ratio(rates, limit),
        }
    return figures


def compiled(pack: Pack) -> Figures:
    """Train the same encoders compiled by ``torch.compile``, beside themselves as they are."""
    experiment = _with_batches(pack.experiment(pack.either("race"), "plain"), 1024 if pack.is_tiny else FULL)
    train = pack.training_questions(experiment).train
    return {
        name: compare_compiled(*(_recipe(experiment, train, config) for _ in range(2)), tiny=pack.is_tiny)
        for name, config in _encoders(tiny=pack.is_tiny).items()
    }


def _encoders(*, tiny: bool) -> dict[str, PretrainedConfig]:
    size: dict[str, Any] = {"hidden_size": 32, "num_attention_heads": 2, "intermediate_size": 64} if tiny else {}
    size |= {"num_hidden_layers": 2} if tiny else {}
    base = {"hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 3072, "num_hidden_layers": 12} | size
    # Their own vocabularies are others; ids are MiniLM's.
    still: dict[str, Any] = {"vocab_size": 30522, "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    return {"BERT-base": BertConfig(**base, **still), "ALBERT-base": AlbertConfig(embedding_size=128, **base, **still)}


def _recipe(experiment: Experiment, train: QuestionSet, config: PretrainedConfig) -> Recipe:
    ours = product_recipe(experiment, train)
    reader = readers.build(experiment.reader, encoder=config, head=experiment.head, **experiment.model_options).train()
    return Recipe(reader, ours.examples, ours.batches, ours.collator, bf16=ours.bf16, device=ours.device)


def _stated_peak() -> float | None:
    """Return the peak that is stated for this GPU; None if it is not known, or there is no GPU."""
    name = device_name("cuda") if device() == "cuda" else ""
    return next((rate for part, rate in PEAKS.items() if part in name), None)


def steps(pack: Pack) -> dict[str, Callable[[Pack], Figures]]:
    """Return the measurements by name, in the order of their worth."""
    benchmarks = sorted(pack.benchmarks, key=lambda name: name != "race")
    trained = {f"training {name}": partial(training, benchmark=name) for name in benchmarks}
    # A rehearsal has compiled once, among the checks.
    slow = {} if pack.is_tiny else {"compiled": compiled}
    return {"peak": peak, **trained, "inference": inference, **slow}
