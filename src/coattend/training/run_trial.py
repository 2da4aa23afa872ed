"""Train the trials of an experiment, or load their outcomes."""

import logging
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, cast

import torch
from safetensors import SafetensorError
from transformers import TrainerState

from coattend import readers
from coattend.batches.dataset import QuestionSet
from coattend.batches.examples import digest
from coattend.batches.sampler import LengthBuckets
from coattend.config import TrainingParameters
from coattend.errors import CoattendError
from coattend.evaluation.records import CurvePoint
from coattend.inference.decoding import Answer
from coattend.inference.predict import answer_questions
from coattend.inference.scoring import held_out_loss, held_out_score, null_threshold, score_answers
from coattend.io.atomic import disk_errors
from coattend.text.hashing import file_digest
from coattend.training import events
from coattend.training.callbacks import Measure, callbacks_of
from coattend.training.diagnostics import training_diagnostics
from coattend.training.distributed import (
    SINGLE_PROCESS,
    broadcast_from_main,
    is_main_process,
    launch,
    main_process_first,
    rank_and_world_size,
)
from coattend.training.trainer import ReaderTrainer, arguments_of, last_checkpoint
from coattend.trials import run_spec
from coattend.trials.build import build_collator, cached_features, entity_permutation, initial_reader
from coattend.trials.device import device_and_precision, device_name, freeze_gc
from coattend.trials.experiment import Experiment
from coattend.trials.trial import EncoderContent, Trial, TrialContent, TrialOutcome, encoder_digest
from coattend.trials.warnings import alarms

EXCLUDED_FROM_TRIAL_ID = {
    "seeds",
    "device",
    "processes",
    "precision",
    "tag_noise",
    "tag_noise_kind",
    "tag_noise_in",
    "reads",
}
"""Training parameters that do not enter a trial's id.

The seed and the precision are fields of their own, the device is recorded with the outcome, the number of processes
only changes the order of sums, and ``reads`` and tag noise show in the data: a trial with noise in dev alone is the
trial without noise."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class TrialRunner:
    """Trains the trials of an experiment.

    Attributes:
        experiment: The experiment.
        store: The folder of all trials.
        train: The training questions.
        held_out: The held-out questions, which choose the checkpoint.
        data: A hash of both.
    """

    experiment: Experiment
    store: Path
    train: QuestionSet
    held_out: QuestionSet
    data: str

    @classmethod
    def of(cls, experiment: Experiment, store: Path) -> "TrialRunner":
        """Read the questions of an experiment, and log those that cannot be read."""
        freeze_gc()
        train, held_out = experiment.training_questions()
        for unreadable in (*train.unreadable, *held_out.unreadable):
            logger.warning("question %s is left out: %s", unreadable.question_id, unreadable.reason)
        return cls(experiment, store, train, held_out, digest(chain(train.examples, held_out.examples), train.tokens))

    def with_training(self, values: Mapping[str, Any]) -> "TrialRunner":
        """Return a runner for the same questions with other training parameters.

        Args:
            values: Training parameters that a search may change, with their values.
        """
        training = TrainingParameters.model_validate(self.experiment.training.model_dump() | dict(values))
        return replace(self, experiment=replace(self.experiment, training=training))

    def trial(self, seed: int) -> Trial:
        """Return the trial of a seed."""
        return Trial(_content(self.experiment, seed, self.data), self.store)

    def attempt(self, seed: int) -> tuple[TrialOutcome, Exception | None]:
        """Train the trial of a seed, or load its outcome.

        Returns:
            The outcome, with a ``failure`` if the trial failed, and the error that it failed with.
        """
        trial = self.trial(seed)
        try:
            return _train(trial, self.experiment, self.train, self.held_out), None
        except Exception as error:
            outcome = trial.fail(f"{type(error).__name__}: {error}")
            events.announce("trial_ended", trial.id, outcome)
            logger.error("trial %s (seed %d) failed: %s", trial.id, seed, error)
            return outcome, error


def train_all(experiment: Experiment, store: Path) -> list[TrialOutcome]:
    """Train an experiment's trials, seed by seed; finished trials are not trained again.

    Returns:
        The outcome of each trial. One that failed has a ``failure``, and the others go on.

    Raises:
        CoattendError: If every trial failed.
    """
    runner = TrialRunner.of(experiment, store)
    outcomes, errors = zip(*map(runner.attempt, experiment.training.seeds), strict=True)
    if all(errors):
        raise errors[0]
    return list(outcomes)


def _content(experiment: Experiment, seed: int, data: str) -> TrialContent:
    """Gather everything that a trial's result depends on; its hash is the trial's id."""
    training = experiment.training.model_dump(mode="json", exclude=EXCLUDED_FROM_TRIAL_ID) | {
        "start_from": experiment.parent_trial(seed)
    }
    # Trials without the penalty keep the ids that they had before the parameter existed.
    if not experiment.training.embedding_l2:
        del training["embedding_l2"]
    _, bf16 = device_and_precision(experiment.training)
    encoder = EncoderContent(digest=encoder_digest(experiment.encoder.source), dropout=experiment.encoder.dropout)
    vectors_file = experiment.options.get("vectors_file")
    if vectors_file is not None:
        encoder["vectors"] = _digest_or_none(Path(vectors_file))
    # Half precision is the default of cached features, and is not named.
    if experiment.training.frozen and not bf16:
        encoder["kept"] = "float32"
    return {
        "benchmark": experiment.benchmark,
        "reader": experiment.reader,
        "head": experiment.head,
        "options": experiment.options,
        "encoder": encoder,
        "training": training | {"precision": "bf16" if bf16 else "fp32"},
        "seed": seed,
        "data": data,
        "source": readers.code_digest(experiment.reader, experiment.head),
    }


def _digest_or_none(file: Path) -> str | None:
    """Hash a file; None if it cannot be read, so that its trials fail and not those of other variants."""
    try:
        return file_digest(file)
    except OSError:
        return None


def _check_vectors(experiment: Experiment) -> None:
    file = experiment.options.get("vectors_file")
    try:
        if file is not None:
            Path(file).open("rb").close()
    except OSError as error:
        raise CoattendError(f"cannot be read ({error.strerror})", where=f"vectors_file {file}") from None


def _train(trial: Trial, experiment: Experiment, train: QuestionSet, held_out: QuestionSet) -> TrialOutcome:
    _check_vectors(experiment)
    is_launcher = experiment.training.processes > 1 and rank_and_world_size() == SINGLE_PROCESS
    if is_launcher and trial.outcome() is None:
        arguments = (list(events.listeners), trial, experiment, train, held_out)
        return launch(_train_in_process, *arguments, processes=experiment.training.processes, name=f"trial {trial.id}")
    title, seed = f"{experiment.benchmark}.{experiment.name}", trial.content["seed"]
    with trial.locked() if is_main_process() else nullcontext():
        finished = broadcast_from_main(trial.outcome)
        if finished is not None:
            if is_main_process():
                run_spec.write(run_spec.run_spec_of(experiment, finished, trial.store), trial.folder)
            logger.info("%s seed %d: trial %s is done already", title, finished["seed"], trial.id)
            # A run that was killed right after the outcome was written leaves checkpoints behind.
            shutil.rmtree(trial.checkpoints, ignore_errors=True)
            return finished
        checkpoint = main_process_first(lambda: last_checkpoint(trial.checkpoints))
        description = {"trial_id": trial.id, "name": experiment.name} | trial.content
        events.announce("trial_started", description | {"encoder": experiment.encoder.source})
        verb = "goes on from " + Path(checkpoint).name if checkpoint else "trains"
        logger.info("%s seed %d: trial %s %s", title, seed, trial.id, verb)
        with _without_denormals():
            outcome = _fit(trial, experiment, train, held_out, checkpoint)
        events.announce("trial_ended", trial.id, outcome)
        return outcome


def _train_in_process(
    listeners: list[events.Listener], trial: Trial, experiment: Experiment, train: QuestionSet, held_out: QuestionSet
) -> TrialOutcome:
    """Train as one of several processes, of which only the main one has listeners."""
    events.listeners[:] = listeners if is_main_process() else []
    return _train(trial, experiment, train, held_out)


@contextmanager
def _without_denormals() -> Iterator[None]:
    # Adam's moments of words that a batch lacks fade into denormal numbers, on which processors are ten times slower.
    # The processor would keep to this after the training too, and other numbers of the process would vanish.
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)


def _fit(
    trial: Trial, experiment: Experiment, train: QuestionSet, held_out: QuestionSet, checkpoint: str | None
) -> TrialOutcome:
    device, bf16 = device_and_precision(experiment.training)
    seed, training = trial.content["seed"], experiment.training
    arguments = arguments_of(
        training, folder=trial.checkpoints, seed=seed, device=device, bf16=bf16, quiet=not sys.stderr.isatty()
    )
    # The seed decides the initial weights, dropout and, by way of the buckets, the order of batches.
    torch.manual_seed(seed)
    reader = initial_reader(experiment, train, trial.store, seed)
    reader.to(device)
    train_features, held_out_features = main_process_first(
        lambda: [cached_features(experiment, reader, questions, trial.store) for questions in (train, held_out)]
    )
    buckets = LengthBuckets.from_examples(
        train.examples,
        build_collator(experiment, reader, train).sequence_length,
        tokens_per_batch=training.tokens_per_batch,
        seed=seed,
    )
    measure = Measure(trial.id, device)
    # Answers to the held-out questions at the best step so far, and at the last one.
    answers_by_step: dict[int | None, list[Answer]] = {}

    def score() -> tuple[float, float | None]:
        answers = answer_questions(experiment, reader, held_out, features=held_out_features)
        for step in answers_by_step.keys() - {trainer.state.best_global_step}:
            del answers_by_step[step]
        answers_by_step[trainer.state.global_step] = answers
        return held_out_score(answers, held_out), held_out_loss(answers, held_out, experiment.head)

    trainer = ReaderTrainer(
        reader,
        train.examples,
        buckets=buckets,
        collator=build_collator(
            experiment,
            reader,
            train,
            permutation=entity_permutation(experiment, seed, lambda: buckets.epoch),
            features=train_features,
        ),
        score=score,
        arguments=arguments,
        callbacks=callbacks_of(training, f"{experiment.benchmark}.{experiment.name} seed {seed}"),
        measure=measure,
    )
    trainer.train(resume_from_checkpoint=checkpoint)

    def finish() -> TrialOutcome:
        shutil.rmtree(trial.model, ignore_errors=True)
        with disk_errors(trial.model, SafetensorError):
            reader.save(trial.model)
        # After a resumed training the best step may lie before the interruption.
        answers = answers_by_step.get(trainer.state.best_global_step)
        if answers is None:
            answers = answer_questions(experiment, reader, held_out, features=held_out_features)
        threshold = null_threshold(answers, held_out, train) if experiment.source.task == "span" else None
        diagnostics = training_diagnostics(
            experiment,
            reader,
            train,
            held_out,
            batches=buckets,
            predictions=score_answers(answers, held_out, trial_id=trial.id, seed=seed, threshold=threshold),
            curve=trainer.state.log_history,
        )
        for warning in alarms(diagnostics):
            logger.warning("%s.%s seed %d: %s", experiment.benchmark, experiment.name, seed, warning)
        outcome = outcome_of(trial, experiment, trainer.state, measure, train, held_out)
        outcome["null_threshold"] = threshold
        # Weights of a frozen encoder do not count.
        outcome["parameters"] = sum(weights.numel() for weights in reader.parameters() if weights.requires_grad)
        outcome["signs"] = diagnostics
        outcome = trial.finish(outcome)
        run_spec.write(run_spec.run_spec_of(experiment, outcome, trial.store), trial.folder)
        shutil.rmtree(trial.checkpoints, ignore_errors=True)
        return outcome

    # The other processes wait, so that all machines find the trial finished.
    return broadcast_from_main(finish)


def outcome_of(
    trial: Trial,
    experiment: Experiment,
    state: TrainerState,
    measure: Measure,
    train: QuestionSet,
    held_out: QuestionSet,
) -> TrialOutcome:
    """Build the JSON outcome of a training: its configuration, cost and curve, and the questions it left out.

    Args:
        trial: The trial.
        experiment: The experiment.
        state: The trainer's state at the end.
        measure: Seconds and memory.
        train: The training questions.
        held_out: The held-out questions.
    """
    device, bf16 = device_and_precision(experiment.training)
    history = cast("list[dict[str, Any]]", state.log_history)
    curve = [
        cast(
            "CurvePoint",
            {
                "step": entry["step"],
                "epoch": entry["epoch"],
                "loss": entry.get("loss"),
                "held_out": entry.get("eval_score"),
                "held_out_loss": entry.get("eval_loss"),
            }
            | entry.get("readings", {}),
        )
        for entry in history
        if "loss" in entry or "eval_score" in entry
    ]
    trained_questions = len(train.examples) * state.epoch
    return {
        "trial_id": trial.id,
        "seed": trial.content["seed"],
        "folder": trial.id,
        "variant": experiment.reader,
        "head": experiment.head,
        "data": trial.content["data"],
        "options": experiment.options,
        "training": trial.content["training"] | {"reads": experiment.training.reads},
        "encoder": experiment.encoder.source,
        "seconds": measure.seconds,
        "questions": len(train.examples),
        "questions_per_second": trained_questions / measure.seconds if measure.seconds else 0.0,
        "peak_memory_mib": measure.memory.mib,
        "device": device_name(device),
        "precision": "bf16" if bf16 else "fp32",
        "tagger": experiment.source.tokens.tagger,
        "selection": experiment.training.selection,
        "best_step": cast(int, state.best_global_step),
        "held_out": state.best_metric,
        "curve": curve,
        "unreadable": [vars(question) for question in (*train.unreadable, *held_out.unreadable)],
        "failure": None,
    }
