"""Trains one trial, or finds it done."""

import logging
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from coattend import readers
from coattend.errors import CoattendError
from coattend.parameters import EncoderParameters, TrainingParameters
from coattend.readers.reader import Reader
from coattend.text.subwords import SpecialLayout
from coattend.training.answers import answer
from coattend.training.batching import LengthBuckets
from coattend.training.callbacks import Measure, callbacks_of
from coattend.training.collation import Collator
from coattend.training.data import QuestionSet, Source
from coattend.training.devices import device_name, device_of, uses_bf16
from coattend.training.encoders import encoder_digest
from coattend.training.events import announce
from coattend.training.examples import digest
from coattend.training.marking import held_out_score, mark
from coattend.training.trainer import ReaderTrainer, arguments_of, last_checkpoint
from coattend.training.trial import Trial, digest_of_code

NOT_IN_THE_ID = {"seeds", "device", "precision"}
"""Training parameters that a trial's id leaves out: its seed and precision stand beside them, the device is noted."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Plan:
    """Everything that the trials of one reader on one benchmark share.

    Attributes:
        benchmark: Name of the benchmark.
        name: Name of the reader's entry.
        reader: Its name in the registry.
        head: Its head.
        options: Its options, resolved.
        encoder: Its encoder.
        training: How it is trained.
        source: Where its questions come from.
        layout: Special tokens of its tokenizer.
    """

    benchmark: str
    name: str
    reader: str
    head: str
    options: dict[str, Any]
    encoder: EncoderParameters
    training: TrainingParameters
    source: Source
    layout: SpecialLayout

    def collator(self) -> Collator:
        """Makes this plan's batches."""
        return Collator(self.source.tokens, self.layout, self.head)

    def precision(self) -> tuple[str, bool]:
        """The device, and whether matrix products run in bf16."""
        device = device_of(self.training)
        return device, uses_bf16(self.training, device)


def train_all(plan: Plan, store: Path) -> list[dict[str, Any]]:
    """Train a plan's trials, seed by seed; what is done already is not done again.

    Returns:
        What each trial came to. A trial that failed has a ``failure``; the others go on.

    Raises:
        CoattendError: If every trial failed.
    """
    train, held_out = plan.source.training(plan.training)
    for unreadable in (*train.unreadable, *held_out.unreadable):
        logger.warning("question %s is left out: %s", unreadable.question_id, unreadable.reason)
    data = digest(train.examples + held_out.examples, plan.source.tokens)
    outcomes, errors = [], []
    for seed in plan.training.seeds:
        trial = Trial(_content(plan, seed, data), store)
        try:
            outcomes.append(_train(trial, plan, train, held_out))
        except Exception as error:
            errors.append(error)
            outcomes.append(trial.fail(f"{type(error).__name__}: {error}"))
            announce("trial_ended", trial.id, outcomes[-1])
            logger.error("trial %s (seed %d) failed: %s", trial.id, seed, error)
    if len(errors) == len(outcomes):
        raise errors[0]
    return outcomes


def _content(plan: Plan, seed: int, data: str) -> dict[str, Any]:
    training = plan.training.model_dump(mode="json", exclude=NOT_IN_THE_ID)
    _, bf16 = plan.precision()
    return {
        "benchmark": plan.benchmark,
        "reader": plan.reader,
        "head": plan.head,
        "options": plan.options,
        "encoder": {"digest": encoder_digest(plan.encoder.source), "dropout": plan.encoder.dropout},
        "training": training | {"precision": "bf16" if bf16 else "fp32"},
        "seed": seed,
        "data": data,
        "source": digest_of_code(readers.sources(plan.reader, plan.head)),
    }


def _train(trial: Trial, plan: Plan, train: QuestionSet, held_out: QuestionSet) -> dict[str, Any]:
    with trial.locked():
        done = trial.outcome()
        if done is not None:
            logger.info("%s.%s seed %d: trial %s is done already", plan.benchmark, plan.name, done["seed"], trial.id)
            return done
        checkpoint = last_checkpoint(trial.checkpoints)
        named = {"trial_id": trial.id, "name": plan.name} | trial.content
        announce("trial_started", named | {"encoder": plan.encoder.source})
        verb = "goes on from " + Path(checkpoint).name if checkpoint else "trains"
        logger.info("%s.%s seed %d: trial %s %s", plan.benchmark, plan.name, trial.content["seed"], trial.id, verb)
        outcome = _fit(trial, plan, train, held_out, checkpoint)
        announce("trial_ended", trial.id, outcome)
        return outcome


def _fit(trial: Trial, plan: Plan, train: QuestionSet, held_out: QuestionSet, checkpoint: str | None) -> dict[str, Any]:
    device, bf16 = plan.precision()
    seed, training, collator = trial.content["seed"], plan.training, plan.collator()
    torch.manual_seed(seed)
    # Adam's moments of words that a batch lacks fade into denormal numbers, on which processors are ten times slower.
    torch.set_flush_denormal(True)
    reader = build_reader(plan)
    longest = reader.encoder.max_length
    if longest is not None and training.max_length > longest:
        raise CoattendError(
            f"is {training.max_length}, and the encoder reads at most {longest} tokens",
            where="training.max_length",
            cure=f"Set it to {longest} or less",
        )
    measure = Measure(trial.id, device)
    trainer = ReaderTrainer(
        reader,
        train.examples,
        buckets=_buckets(train.examples, collator, training, seed),
        collator=collator,
        score=lambda: _score(reader, plan, held_out, collator, trial, bf16),
        arguments=arguments_of(
            training, folder=trial.checkpoints, seed=seed, device=device, bf16=bf16, quiet=not sys.stderr.isatty()
        ),
        callbacks=callbacks_of(training, f"{plan.benchmark}.{plan.name} seed {seed}"),
        measure=measure,
    )
    trainer.train(resume_from_checkpoint=checkpoint)
    shutil.rmtree(trial.model, ignore_errors=True)
    reader.save(trial.model)
    outcome = trial.finish(_outcome(trial, plan, trainer, measure, train, held_out))
    shutil.rmtree(trial.checkpoints, ignore_errors=True)
    return outcome


def build_reader(plan: Plan) -> Reader:
    """A fresh reader of this plan."""
    options = {"dropout": plan.encoder.dropout} | plan.options
    return readers.build(plan.reader, encoder=plan.encoder.source, head=plan.head, **options)


def _buckets(examples: Sequence[Any], collator: Collator, training: TrainingParameters, seed: int) -> LengthBuckets:
    return LengthBuckets(
        [collator.sequence_length(example) for example in examples],
        [len(example.sequences) for example in examples],
        tokens_per_batch=training.tokens_per_batch,
        seed=seed,
    )


def _score(reader: Reader, plan: Plan, held_out: QuestionSet, collator: Collator, trial: Trial, bf16: bool) -> float:
    answers = answer(
        reader,
        held_out.examples,
        collator=collator,
        tokens=plan.source.tokens,
        tokens_per_batch=plan.training.tokens_per_batch,
        bf16=bf16,
        max_answer_length=plan.training.max_answer_length,
    )
    return held_out_score(mark(answers, held_out, trial_id=trial.id, seed=trial.content["seed"]), held_out)


def _outcome(
    trial: Trial, plan: Plan, trainer: ReaderTrainer, measure: Measure, train: QuestionSet, held_out: QuestionSet
) -> dict[str, Any]:
    device, bf16 = plan.precision()
    history = trainer.state.log_history
    curve = [
        {"step": entry["step"], "epoch": entry["epoch"], "loss": entry.get("loss"), "held_out": entry.get("eval_score")}
        for entry in history
        if "loss" in entry or "eval_score" in entry
    ]
    asked = len(train.examples) * trainer.state.epoch
    return {
        "trial_id": trial.id,
        "seed": trial.content["seed"],
        "folder": trial.id,
        "variant": plan.reader,
        "head": plan.head,
        "data": trial.content["data"],
        "options": plan.options,
        "training": trial.content["training"],
        "encoder": plan.encoder.source,
        "seconds": measure.seconds,
        "questions": len(train.examples),
        "questions_per_second": asked / measure.seconds if measure.seconds else 0.0,
        "peak_memory_mib": measure.memory.mib,
        "parameters": sum(p.numel() for p in trainer.model.parameters() if p.requires_grad),
        "device": device_name(device),
        "precision": "bf16" if bf16 else "fp32",
        "tagger": plan.source.tokens.tagger,
        "selection": plan.training.selection,
        "best_step": trainer.state.best_global_step,
        "held_out": trainer.state.best_metric,
        "curve": curve,
        "unreadable": [vars(question) for question in (*train.unreadable, *held_out.unreadable)],
        "failure": None,
    }
