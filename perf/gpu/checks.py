"""Tests that need a GPU. In a rehearsal they run on a processor, and those of a GPU's memory say that there is none."""

import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from coattend.inference.decoding import OptionAnswer
from coattend.inference.predict import answer_questions
from coattend.readers.batch import Batch
from coattend.readers.encoders.passage_apart import layers_of
from coattend.readers.reader import Reader
from coattend.training.run_trial import TrialRunner
from coattend.trials.experiment import Experiment
from perf.gpu.kernels import kernels, milliseconds
from perf.gpu.machine import Pack, device
from perf.recipes import Recipe, padded, product_recipe
from perf.timing import alternate, ratio

READERS = ("plain", "poi_net", "duma")
SAME_DECISION = 0.99
"""Least share of questions on which a reader decides the same in bf16 as in float32."""

SAME_SCORE = 1e-3
"""Largest difference of a score in float32 between a GPU and a processor."""

SMALL_MEMORY, LARGE_BATCH = 0.01, 65536
"""Share of the GPU's memory that a training is given, and the tokens of its batches, to see what it says."""

Figures = dict[str, Any]


def precision(pack: Pack) -> Figures:
    """Compare decisions in bf16 with those in float32, and scores in float32 with those of the processor."""
    figures: Figures = {}
    for name in READERS:
        experiment, trained = train_briefly(pack, name)
        questions = pack.evaluation_questions(experiment).sample(32 if pack.is_tiny else 1000)
        few = questions.sample(16)
        exact, half = (_with_precision(experiment, precision) for precision in ("fp32", "bf16"))
        scores = _scores(answer_questions(exact, trained, questions))
        decisions = {name: np.argmax(values) for name, values in scores.items()}
        halves = _scores(answer_questions(half, trained, questions))
        on_device = _scores(answer_questions(exact, trained, few))
        on_processor = _scores(answer_questions(exact, trained.cpu(), few))
        difference = max(float(np.abs(np.subtract(on_device[key], on_processor[key])).max()) for key in on_processor)
        same = float(np.mean([np.argmax(halves[key]) == decisions[key] for key in decisions]))
        figures[name] = {
            "questions": len(scores),
            "same_decision": round(same, 4),
            "difference_to_processor": difference,
            "passed": same >= SAME_DECISION and difference <= SAME_SCORE,
        }
    return figures


def determinism(pack: Pack) -> Figures:
    """Train the same trial twice, and compare the answers of both."""
    answers = []
    for _ in range(2):
        experiment, trained = train_briefly(pack, "poi_net")
        questions = pack.evaluation_questions(experiment).sample(32 if pack.is_tiny else 1000)
        answers.append(_scores(answer_questions(experiment, trained, questions)))
    first, second = answers
    difference = max(float(np.abs(np.subtract(first[key], second[key])).max()) for key in first)
    same = float(np.mean([np.argmax(first[key]) == np.argmax(second[key]) for key in first]))
    return {
        "bitwise": difference == 0.0,
        "largest_difference": difference,
        "same_decision": round(same, 4),
        "passed": same >= SAME_DECISION,
    }


def memory(pack: Pack) -> Figures:
    """Train with too little memory, and look for the cure in what is said."""
    if device() != "cuda":
        return {"skipped": "no GPU"}
    torch.cuda.empty_cache()
    torch.cuda.set_per_process_memory_fraction(SMALL_MEMORY)
    try:
        with tempfile.TemporaryDirectory() as folder:
            training = _brief(pack) | {"tokens_per_batch": LARGE_BATCH}
            outcome = _attempt(pack, pack.experiment(pack.either("dream"), "plain", training=training), Path(folder))
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    said = outcome["failure"] or "nothing"
    return {"said": said, "passed": "tokens_per_batch" in said}


def compiled(pack: Pack) -> Figures:
    """Train with an encoder whose layers ``torch.compile`` has compiled, beside the same that is not."""
    experiment = pack.experiment(pack.either("dream"), "plain")
    train = pack.training_questions(experiment).train
    recipes = {name: product_recipe(experiment, train) for name in ("as it is", "compiled")}
    figures = compare_compiled(recipes["as it is"], recipes["compiled"], tiny=pack.is_tiny)
    return figures | {"benchmark": experiment.benchmark}


def compare_compiled(plain: Recipe, other: Recipe, *, tiny: bool) -> Figures:
    """Time steps of two like recipes, of one of which the encoder's layers are compiled first."""
    for layer in set(layers_of(other.encoder.model)):
        # Shapes differ from batch to batch: they are variables of what is compiled, once for all layers.
        layer.compile(dynamic=True, backend="eager" if tiny else "inductor")
    count = 1 if tiny else 20
    start = time.perf_counter()
    try:
        for batch in (other.batches[0], other.batches[-1], other.batches[len(other.batches) // 2]):
            other.step(batch)
    except Exception as error:  # A machine may lack a compiler of C, and each part of torch says so in its own way.
        return {"problem": f"{type(error).__name__}: {str(error).splitlines()[0][:200]}"}
    seconds = time.perf_counter() - start
    rates = alternate(
        {"as it is": partial(plain.rate, count), "compiled": partial(other.rate, count)}, 1 if tiny else 3
    )
    return {"faster": ratio(rates["compiled"], rates["as it is"]), "seconds_to_compile": round(seconds, 1)}


def captured(pack: Pack) -> Figures:
    """Replay a training step of one shape as a CUDA graph, beside the same step as it is."""
    if device() != "cuda":
        return {"skipped": "no GPU"}
    figures: Figures = {}
    for name in ("plain", "plain_apart"):
        experiment = pack.experiment(pack.either("dream"), name)
        recipe = product_recipe(experiment, pack.training_questions(experiment).train)
        rows = recipe.batches[len(recipe.batches) // 2]
        batch = Batch(**recipe.collator([recipe.examples[row] for row in rows])).to("cuda")
        try:
            figures[name] = {"faster": compare_captured(padded(recipe.reader), batch)}
        except RuntimeError as error:  # A step that waits for the GPU, to look at a number, cannot be captured.
            figures[name] = {"problem": str(error).splitlines()[0][:200]}
    return figures


def compare_captured(reader: Reader, batch: Batch) -> dict[str, float]:
    """Return how many times as fast a step on a batch is when it is replayed."""
    optimizer = torch.optim.AdamW(reader.parameters(), lr=1e-5, fused=True, capturable=True)

    def step() -> None:
        optimizer.zero_grad()
        # Casts that are kept from step to step would be read from memory that a replay does not fill.
        with torch.autocast("cuda", torch.bfloat16, cache_enabled=False):
            loss = reader(batch).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(reader.parameters(), 1.0)
        optimizer.step()

    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    optimizer.zero_grad()
    with torch.cuda.graph(graph):
        step()

    taken = alternate({"step": partial(milliseconds, step), "replay": partial(milliseconds, graph.replay)}, 3)
    return ratio(taken["step"], taken["replay"])


CHECKS: dict[str, Callable[[Pack], Figures]] = {
    "determinism": determinism,
    "captured": captured,
    "precision": precision,
    "memory": memory,
    "kernels": kernels,
    "compiled": compiled,
}
"""The tests by name, in the order of their worth."""


def train_briefly(pack: Pack, reader: str) -> tuple[Experiment, Reader]:
    """Train a reader of options on some questions, until it knows a bit."""
    experiment = pack.experiment(pack.either("dream"), reader, training=_brief(pack))
    with tempfile.TemporaryDirectory() as folder:
        outcome = _attempt(pack, experiment, Path(folder))
        if outcome["failure"]:
            raise RuntimeError(outcome["failure"])
        return experiment, Reader.load(Path(folder) / outcome["folder"] / "model").to(device())


def _brief(pack: Pack) -> dict[str, Any]:
    return {"max_questions": 16 if pack.is_tiny else 4000, "epochs": 1, "evaluations": 1}


def _attempt(pack: Pack, experiment: Experiment, folder: Path) -> Mapping[str, Any]:
    return TrialRunner(experiment, folder, pack.training_questions(experiment)).attempt(0)[0]


def _with_precision(experiment: Experiment, precision: str) -> Experiment:
    return replace(experiment, training=experiment.training.model_copy(update={"precision": precision}))


def _scores(answers: Any) -> dict[str, tuple[float, ...]]:
    return {answer.example.question_id: answer.scores for answer in answers if isinstance(answer, OptionAnswer)}
