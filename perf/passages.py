"""Passages that are read once for all of their questions, beside the joint encoder and the stock recipe.

Trained are whole passages with their questions; the joint reader and the stock recipe read the same questions. Asked
are the questions about some passages, and, one after another, questions about one passage as a server is asked them.
"""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, cast

import torch

from coattend.batches.dataset import QuestionSet
from coattend.batches.examples import Example
from coattend.inference.predict import answer_questions
from coattend.readers.batch import Batch
from coattend.readers.encoders.passage_apart import PassageCache
from coattend.readers.encoders.transformer import TransformerEncoder
from coattend.trials.build import build_collator, build_reader
from coattend.trials.experiment import Experiment
from perf.prepared import Prepared
from perf.recipes import product_recipe, random_batches
from perf.timing import alternate, ratio
from perf.training import STOCK_SPAN, compare

PASSAGES = 16
"""Passages whose questions are asked together."""

TOKENS = 460
"""About 350 words: the length of the passage that a server is asked about."""


def measure(prepared: Prepared, rounds: int, batches: int) -> dict[str, Any]:
    """Measure training on every benchmark at hand, and questions asked."""
    figures: dict[str, Any] = {}
    for benchmark in ("dream", "race"):
        if benchmark in prepared.benchmarks:
            figures[benchmark] = options(prepared, benchmark, rounds, batches)
    if "squad_v1" in prepared.benchmarks:
        figures["squad_v1"] = spans(prepared, rounds, batches)
    benchmark = "race" if "race" in prepared.benchmarks else prepared.either("dream")
    return figures | {"asked": asked(prepared, benchmark, rounds), "served": served(prepared, benchmark, rounds)}


def options(prepared: Prepared, benchmark: str, rounds: int, batches: int) -> dict[str, Any]:
    """Train the plain reader of options, which reads passages once, beside the joint one and the stock recipe."""
    joint, apart = (prepared.experiment(benchmark, name) for name in ("plain", "plain_apart"))
    train = joint.training_questions().train
    recipes = {
        "ours": product_recipe(apart, apart.training_questions().train),
        "joint": product_recipe(joint, train),
        "stock": random_batches(joint, train),
    }
    return compare(recipes, rounds, batches) | {"benchmark": benchmark}


def spans(prepared: Prepared, rounds: int, batches: int) -> dict[str, Any]:
    """Train a reader of spans that reads passages once, beside the joint one and the stock recipe."""
    joint, apart = (prepared.experiment("squad_v1", name) for name in ("plain", "plain_apart"))
    stock = prepared.experiment("squad_v1", "plain", training=STOCK_SPAN)
    recipes = {
        "ours": product_recipe(apart, apart.training_questions().train),
        "joint": product_recipe(joint, joint.training_questions().train),
        "stock": random_batches(stock, stock.training_questions().train, pad_to=STOCK_SPAN["max_length"]),
    }
    return compare(recipes, rounds, batches) | {"benchmark": "squad_v1"}


def asked(prepared: Prepared, benchmark: str, rounds: int) -> dict[str, Any]:
    """Answer all questions about some passages, beside the joint reader."""
    steps: dict[str, Callable[[], float]] = {}
    count = 0
    for name in ("plain_apart", "plain"):
        experiment = prepared.experiment(benchmark, name)
        questions = about_passages(experiment.training_questions().train, PASSAGES)
        count = len(questions.examples)
        steps[name] = partial(_rate_of_answers, experiment, questions)
    rates = alternate(steps, rounds, warm_up=1)
    return {
        "benchmark": benchmark,
        "questions": count,
        "questions_per_second": {name: round(statistics.median(values), 2) for name, values in rates.items()},
        "faster": ratio(rates["plain_apart"], rates["plain"]),
    }


def _rate_of_answers(experiment: Experiment, questions: QuestionSet) -> float:
    reader = build_reader(experiment, questions)
    start = time.perf_counter()
    answer_questions(experiment, reader, questions)
    return len(questions.examples) / (time.perf_counter() - start)


def served(prepared: Prepared, benchmark: str, rounds: int) -> dict[str, Any]:
    """Answer one question about a long passage in float32, which was read before, beside a passage that is new."""
    experiment = prepared.experiment(benchmark, "plain_apart", training={"precision": "fp32"})
    train = experiment.training_questions().train
    example = min(train.examples, key=lambda question: abs(question.passage_tokens - TOKENS))
    reader = build_reader(experiment, train)
    batch = Batch(**build_collator(experiment, reader, train)([example]))
    encoder = cast(TransformerEncoder, reader.encoder)

    def answer(*, known: bool) -> float:
        if not known or encoder.passage_cache is None:
            encoder.passage_cache = PassageCache(1 << 28)
        if known:
            reader(batch)
        start = time.perf_counter()
        reader(batch)
        return time.perf_counter() - start

    with torch.inference_mode():
        seconds = alternate(
            {"known": partial(answer, known=True), "new": partial(answer, known=False)}, 4 * rounds, warm_up=1
        )
    return {
        "passage_tokens": example.passage_tokens,
        "milliseconds": {name: round(1000 * statistics.median(values), 1) for name, values in seconds.items()},
        "faster": ratio(seconds["new"], seconds["known"]),
    }


def about_passages(questions: QuestionSet, count: int) -> QuestionSet:
    """Return the questions about so many passages, spread evenly."""
    by_passage: dict[int, list[Example]] = {}
    for example in questions.examples:
        by_passage.setdefault(example.passage, []).append(example)
    passages = list(by_passage.values())
    chosen: Sequence[Example] = [
        example for number in range(count) for example in passages[number * len(passages) // count]
    ]
    return replace(questions, examples=chosen)
