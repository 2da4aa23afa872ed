"""Trains one trial, or finds it done."""

import logging
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError

from coattend import readers
from coattend.datasets.atomic import writing
from coattend.errors import CoattendError
from coattend.evaluation.alarms import alarms
from coattend.parameters import TrainingParameters
from coattend.text.identity import file_digest
from coattend.training import events
from coattend.training.answers import Answer
from coattend.training.batching import LengthBuckets
from coattend.training.callbacks import Measure, callbacks_of
from coattend.training.data import QuestionSet
from coattend.training.encoders import encoder_digest
from coattend.training.examples import digest
from coattend.training.freed_memory import overlook_what_is_loaded
from coattend.training.marking import held_out_loss, held_out_score, mark, null_threshold
from coattend.training.outcome import outcome_of
from coattend.training.plan import Plan
from coattend.training.signs import signs_of
from coattend.training.starting import begin
from coattend.training.together import ALONE, first_first, is_first, launch, of_first, place
from coattend.training.trainer import ReaderTrainer, arguments_of, last_checkpoint
from coattend.training.trial import Trial, digest_of_code

NOT_IN_THE_ID = {"seeds", "device", "processes", "precision", "tag_noise", "tag_noise_kind", "tag_noise_in", "reads"}
"""Training parameters that a trial's id leaves out: its seed and precision stand beside them, the device is noted, how
many processes share it changes nothing but the order of sums, and what is read is its data: a trial with wrong tags in
dev alone is that without any."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Work:
    """The trials of a plan.

    Attributes:
        plan: What is trained.
        store: The folder of all trials.
        train: What it is trained on.
        held_out: What chooses the checkpoint.
        data: A hash of both.
    """

    plan: Plan
    store: Path
    train: QuestionSet
    held_out: QuestionSet
    data: str

    @classmethod
    def of(cls, plan: Plan, store: Path) -> "Work":
        """Read the questions of a plan; what cannot be read is told."""
        overlook_what_is_loaded()
        train, held_out = plan.training_questions()
        for unreadable in (*train.unreadable, *held_out.unreadable):
            logger.warning("question %s is left out: %s", unreadable.question_id, unreadable.reason)
        return cls(plan, store, train, held_out, digest(chain(train.examples, held_out.examples), train.tokens))

    def learned(self, values: Mapping[str, Any]) -> "Work":
        """The same questions, learned in another way.

        Args:
            values: Fields of training, of those that a search may change, to their values.
        """
        training = TrainingParameters.model_validate(self.plan.training.model_dump() | dict(values))
        return replace(self, plan=replace(self.plan, training=training))

    def trial(self, seed: int) -> Trial:
        """The trial of a seed."""
        return Trial(_content(self.plan, seed, self.data), self.store)

    def attempt(self, seed: int) -> tuple[dict[str, Any], Exception | None]:
        """Train the trial of a seed, or find it done.

        Returns:
            What it came to, with a ``failure`` if it failed, and the error that it failed with.
        """
        trial = self.trial(seed)
        try:
            return _train(trial, self.plan, self.train, self.held_out), None
        except Exception as error:
            outcome = trial.fail(f"{type(error).__name__}: {error}")
            events.announce("trial_ended", trial.id, outcome)
            logger.error("trial %s (seed %d) failed: %s", trial.id, seed, error)
            return outcome, error


def train_all(plan: Plan, store: Path) -> list[dict[str, Any]]:
    """Train a plan's trials, seed by seed; what is done already is not done again.

    Returns:
        What each trial came to. A trial that failed has a ``failure``; the others go on.

    Raises:
        CoattendError: If every trial failed.
    """
    work = Work.of(plan, store)
    outcomes, errors = zip(*map(work.attempt, plan.training.seeds), strict=True)
    if all(errors):
        raise errors[0]
    return list(outcomes)


def _content(plan: Plan, seed: int, data: str) -> dict[str, Any]:
    training = plan.training.model_dump(mode="json", exclude=NOT_IN_THE_ID) | {"start_from": plan.start_of(seed)}
    if not plan.training.embedding_l2:
        del training["embedding_l2"]  # Trials from before it was there are the same ones.
    _, bf16 = plan.precision()
    return {
        "benchmark": plan.benchmark,
        "reader": plan.reader,
        "head": plan.head,
        "options": plan.options,
        "encoder": {"digest": encoder_digest(plan.encoder.source), "dropout": plan.encoder.dropout}
        | _vectors(plan)
        | ({"kept": "float32"} if plan.training.frozen and not bf16 else {}),  # It was half precision before.
        "training": training | {"precision": "bf16" if bf16 else "fp32"},
        "seed": seed,
        "data": data,
        "source": digest_of_code(readers.sources(plan.reader, plan.head)),
    }


def _vectors(plan: Plan) -> dict[str, str | None]:
    """What a file of word vectors holds, where one is read; one that cannot be has its trials fail, not those beside
    them."""
    file = plan.options.get("vectors_file")
    if file is None:
        return {}
    try:
        return {"vectors": file_digest(Path(file))}
    except OSError:
        return {"vectors": None}


def _check_vectors(plan: Plan) -> None:
    file = plan.options.get("vectors_file")
    try:
        if file is not None:
            Path(file).open("rb").close()
    except OSError as error:
        raise CoattendError(f"cannot be read ({error.strerror})", where=f"vectors_file {file}") from None


def _train(trial: Trial, plan: Plan, train: QuestionSet, held_out: QuestionSet) -> dict[str, Any]:
    _check_vectors(plan)
    if plan.training.processes > 1 and place() == ALONE and trial.outcome() is None:
        here = (list(events.listeners), trial, plan, train, held_out)
        return launch(_train_there, *here, processes=plan.training.processes, name=f"trial {trial.id}")
    with trial.locked() if is_first() else nullcontext():
        done = of_first(trial.outcome)
        if done is not None:
            logger.info("%s.%s seed %d: trial %s is done already", plan.benchmark, plan.name, done["seed"], trial.id)
            shutil.rmtree(trial.checkpoints, ignore_errors=True)  # Of a run that was killed once it was done.
            return done
        checkpoint = first_first(lambda: last_checkpoint(trial.checkpoints))
        named = {"trial_id": trial.id, "name": plan.name} | trial.content
        events.announce("trial_started", named | {"encoder": plan.encoder.source})
        verb = "goes on from " + Path(checkpoint).name if checkpoint else "trains"
        logger.info("%s.%s seed %d: trial %s %s", plan.benchmark, plan.name, trial.content["seed"], trial.id, verb)
        with _without_denormals():
            outcome = _fit(trial, plan, train, held_out, checkpoint)
        events.announce("trial_ended", trial.id, outcome)
        return outcome


def _train_there(listeners: list[events.Listener], *given: Any) -> dict[str, Any]:
    """Train as one of several processes, of which the first is listened to."""
    events.listeners[:] = listeners if is_first() else []
    return _train(*given)


@contextmanager
def _without_denormals() -> Iterator[None]:
    # Adam's moments of words that a batch lacks fade into denormal numbers, on which processors are ten times slower.
    # The processor would keep to this after the training too, and other numbers of the process would vanish.
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)


def _fit(trial: Trial, plan: Plan, train: QuestionSet, held_out: QuestionSet, checkpoint: str | None) -> dict[str, Any]:
    device, bf16 = plan.precision()
    seed, training = trial.content["seed"], plan.training
    arguments = arguments_of(
        training, folder=trial.checkpoints, seed=seed, device=device, bf16=bf16, quiet=not sys.stderr.isatty()
    )
    torch.manual_seed(seed)
    reader = begin(plan, train, trial.store, seed)
    reader.to(device)
    kept, choosing = first_first(lambda: [plan.kept(reader, one, trial.store) for one in (train, held_out)])
    length, budget = plan.collator(reader, train).sequence_length, training.tokens_per_batch
    buckets = LengthBuckets.of(train.examples, length, tokens_per_batch=budget, seed=seed)
    measure = Measure(trial.id, device)
    answered: dict[int | None, list[Answer]] = {}  # At the best step so far, and at the last one.

    def score() -> tuple[float, float | None]:
        answers = plan.ask(reader, held_out, kept=choosing)
        for step in answered.keys() - {trainer.state.best_global_step}:
            del answered[step]
        answered[trainer.state.global_step] = answers
        return held_out_score(answers, held_out), held_out_loss(answers, held_out, plan.head)

    trainer = ReaderTrainer(
        reader,
        train.examples,
        buckets=buckets,
        collator=plan.collator(reader, train, permute=plan.permutation(seed, lambda: buckets.epoch), kept=kept),
        score=score,
        arguments=arguments,
        callbacks=callbacks_of(training, f"{plan.benchmark}.{plan.name} seed {seed}"),
        measure=measure,
    )
    trainer.train(resume_from_checkpoint=checkpoint)

    def end() -> dict[str, Any]:
        shutil.rmtree(trial.model, ignore_errors=True)
        with writing(trial.model, SafetensorError):
            reader.save(trial.model)
        answers = answered.get(trainer.state.best_global_step)  # Not if that was before training was cut off.
        if answers is None:
            answers = plan.ask(reader, held_out, kept=choosing)
        threshold = null_threshold(answers, held_out, train) if plan.source.task == "span" else None
        found = {
            "null_threshold": threshold,
            "parameters": sum(p.numel() for p in reader.parameters() if p.requires_grad),
        }
        given = mark(answers, held_out, trial_id=trial.id, seed=seed, threshold=threshold)
        seen = {"batches": buckets, "answered": given, "curve": trainer.state.log_history}
        signs = signs_of(plan, reader, train, held_out, **seen)
        for alarm in alarms(signs):
            logger.warning("%s.%s seed %d: %s", plan.benchmark, plan.name, seed, alarm)
        outcome = outcome_of(trial, plan, trainer.state, measure, train, held_out)
        outcome = trial.finish(outcome | found | {"signs": signs})
        shutil.rmtree(trial.checkpoints, ignore_errors=True)
        return outcome

    return of_first(end)  # The others wait, so that all machines find the trial done.
