"""Passages that are read once for all of their questions, beside the joint encoder and the stock recipe.

Trained are whole passages with their questions; the joint reader and the stock recipe read the same questions. Asked
are the questions about some passages: from tokens, as in an evaluation, and from texts, as a server is asked.
"""

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, cast

from coattend.batches.dataset import QuestionSet
from coattend.batches.examples import Example
from coattend.config import Limits
from coattend.inference.predict import answer_questions
from coattend.readers.encoders.passage_apart import PassageCache
from coattend.readers.encoders.transformer import TransformerEncoder
from coattend.readers.reader import Reader
from coattend.serving.predictor import PASSAGE_CACHE_BYTES, Predictor
from coattend.serving.preprocessor import Preprocessor
from coattend.serving.queries import Query
from coattend.trials.build import build_reader
from coattend.trials.experiment import Experiment, reads_apart
from coattend.trials.run_spec import run_spec_of
from coattend.trials.trial import TrialOutcome
from perf.prepared import Prepared
from perf.recipes import Recipe, product_recipe, random_batches
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
    return figures | {"asked": asked(prepared, benchmark, rounds)}


def measure_served(prepared: Prepared, rounds: int, batches: int) -> dict[str, Any]:
    """Measure a reader that is asked by text, as a server and the pipeline of predictions ask it."""
    benchmark = "race" if "race" in prepared.benchmarks else prepared.either("dream")
    experiments = {name: prepared.experiment(benchmark, name) for name in ("plain_apart", "plain")}
    train = experiments["plain"].training_questions().train
    predictors = {name: _predictor(experiment, train) for name, experiment in experiments.items()}
    return {
        "benchmark": benchmark,
        "question": one_question(predictors, train, 4 * rounds),
        "file": file_of_questions(predictors, about_passages(train, PASSAGES), rounds),
    }


def options(prepared: Prepared, benchmark: str, rounds: int, batches: int) -> dict[str, Any]:
    """Train the plain reader of options, which reads passages once, beside the joint one and the stock recipe."""
    return compare(recipes_of(prepared, benchmark), rounds, batches) | {"benchmark": benchmark}


def recipes_of(prepared: Prepared, benchmark: str) -> dict[str, Recipe]:
    """Return the ways to train the plain reader of options: ours reads passages once."""
    joint, apart = (prepared.experiment(benchmark, name) for name in ("plain", "plain_apart"))
    train = joint.training_questions().train
    return {
        "ours": product_recipe(apart, apart.training_questions().train),
        "joint": product_recipe(joint, train),
        "stock": random_batches(joint, train),
    }


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
        steps[name] = partial(rate_of_answers, experiment, build_reader(experiment, questions), questions)
    rates = alternate(steps, rounds, warm_up=1)
    return {
        "benchmark": benchmark,
        "questions": count,
        "questions_per_second": {name: round(statistics.median(values), 2) for name, values in rates.items()},
        "faster": ratio(rates["plain_apart"], rates["plain"]),
    }


def rate_of_answers(experiment: Experiment, reader: Reader, questions: QuestionSet) -> float:
    """Return the questions a second that a reader answers."""
    start = time.perf_counter()
    answer_questions(experiment, reader, questions)
    return len(questions.examples) / (time.perf_counter() - start)


def one_question(predictors: Mapping[str, Predictor], questions: QuestionSet, rounds: int) -> dict[str, Any]:
    """Ask a question about a long passage, from text to evidence: the passage was read before, it is new, and the joint
    reader."""
    example = min(questions.examples, key=lambda question: abs(question.passage_tokens - TOKENS))
    query = _query(questions, example)

    def answer(name: str, *, known: bool) -> float:
        if not known:
            _forget(predictors[name])
        start = time.perf_counter()
        predictors[name].answer(query)
        return time.perf_counter() - start

    steps = {"known": ("plain_apart", True), "new": ("plain_apart", False), "joint": ("plain", True)}
    predictors["plain_apart"].answer(query)
    seconds = alternate(
        {step: partial(answer, name, known=known) for step, (name, known) in steps.items()}, rounds, warm_up=1
    )
    return {
        "passage_tokens": example.passage_tokens,
        "milliseconds": {name: round(1000 * statistics.median(values), 1) for name, values in seconds.items()},
        "faster_than": {name: ratio(seconds[name], seconds["known"]) for name in ("new", "joint")},
    }


def file_of_questions(predictors: Mapping[str, Predictor], questions: QuestionSet, rounds: int) -> dict[str, Any]:
    """Answer all questions about some passages, as those of a file are answered."""
    queries = [_query(questions, example) for example in questions.examples]

    def rate(name: str) -> float:
        _forget(predictors[name])
        start = time.perf_counter()
        count = sum(1 for _ in predictors[name].answers(queries))
        return count / (time.perf_counter() - start)

    rates = alternate({name: partial(rate, name) for name in predictors}, rounds, warm_up=1)
    return {
        "questions": len(queries),
        "questions_per_second": {name: round(statistics.median(values), 2) for name, values in rates.items()},
        "faster": ratio(rates["plain_apart"], rates["plain"]),
    }


def _query(questions: QuestionSet, example: Example) -> Query:
    row = questions.rows[example.question_id]
    return Query(questions.texts[example.question_id], row["question"], tuple(row["options"] or ()))


def _forget(predictor: Predictor) -> None:
    """Forget the passages that were read, if a reader keeps them."""
    encoder = cast(TransformerEncoder, cast(Reader, predictor.reader).encoder)
    encoder.passage_cache = PassageCache(PASSAGE_CACHE_BYTES) if reads_apart(predictor.spec.options) else None


def _predictor(experiment: Experiment, questions: QuestionSet) -> Predictor:
    """Build what answers questions with a reader that has learned nothing."""
    outcome = {"trial_id": "none", "model_digest": None, "null_threshold": None, "seed": 0}
    spec = run_spec_of(experiment, cast(TrialOutcome, outcome), Path())
    predictor = Predictor(spec, build_reader(experiment, questions), Preprocessor.of(spec, Path()), Limits())
    _forget(predictor)
    return predictor


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
