"""Train the trials of an experiment, or load their outcomes."""

import logging
import shutil
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

import torch
from accelerate import PartialState
from safetensors import SafetensorError
from transformers import TrainerState

from coattend import readers
from coattend.batches.collator import CachedFeatures
from coattend.batches.dataset import QuestionSet
from coattend.config import TrainingParameters
from coattend.config.project import code_commit, project_folder
from coattend.errors import CoattendError
from coattend.evaluation.records import CurvePoint, TrainingRecord
from coattend.inference.decoding import Answer
from coattend.inference.predict import answer_questions
from coattend.inference.scoring import held_out_loss, held_out_score, null_threshold, score_answers
from coattend.io.atomic import disk_errors
from coattend.readers.reader import Reader
from coattend.text.hashing import file_digest, file_version
from coattend.training import events
from coattend.training.callbacks import Measure
from coattend.training.diagnostics import answer_diagnostics, training_diagnostics
from coattend.training.distillation import with_teacher
from coattend.training.distributed import broadcast_from_main, launch
from coattend.training.trainer import ReaderTrainer, arguments_of, last_checkpoint
from coattend.trials import run_spec
from coattend.trials.build import cached_features, initial_reader
from coattend.trials.device import (
    device_and_precision,
    device_name,
    freeze_gc,
    gpu_count,
    memory_errors,
    processor_name,
    select_device,
)
from coattend.trials.experiment import Experiment, TrainingQuestions
from coattend.trials.trial import EncoderContent, Trial, TrialContent, TrialOutcome, encoder_digest
from coattend.trials.warnings import alarms

EXCLUDED_FROM_TRIAL_ID = {
    "seeds", "device", "processes", "gradient_checkpointing", "precision", "tag_noise", "tag_noise_kind",
    "tag_noise_in", "reads",
}  # fmt: skip
"""Training parameters that do not enter a trial's id.

The seed and the precision are fields of their own, the device is recorded with the outcome, the number of processes
only changes the order of sums and what dropout draws, gradient checkpointing changes none, and ``reads`` and tag noise
show in the data: a trial with noise in dev alone is the trial without noise."""

UNNAMED_DEFAULTS = {
    "distillation": None, "lora": None, "optimizer": "adamw", "over_windows": None, "questions_per_batch": None,
}  # fmt: skip
"""Training parameters that are left out of a trial's content where they have these values, which is how trainings were
before there was a choice."""

logger = logging.getLogger(__name__)


def train_all(questions: TrainingQuestions, experiment: Experiment, store: Path) -> list[TrialOutcome]:
    """Train an experiment's trials, seed by seed, or load their outcomes. One that fails has a ``failure``, and the
    others go on; if all fail, the first error is raised."""
    runner = TrialRunner(experiment, store, questions)
    attempts = [attempt(questions, experiment, runner.trial(seed)) for seed in experiment.training.seeds]
    if all(error for _, error in attempts):
        raise cast(Exception, attempts[0][1])
    return [outcome for outcome, _ in attempts]


def attempt(
    questions: TrainingQuestions, experiment: Experiment, trial: Trial
) -> tuple[TrialOutcome, Exception | None]:
    """Train a trial, or load its outcome; of one that fails the outcome has a ``failure``, beside its error."""
    freeze_gc()
    try:
        return _train_or_load(questions, experiment, trial), None
    except Exception as error:
        outcome = trial.fail(f"{type(error).__name__}: {error}")
        events.announce("trial_ended", trial.id, outcome)
        logger.error("trial %s (seed %d) failed: %s", trial.id, trial.content["seed"], error)
        return outcome, error


def _train_or_load(questions: TrainingQuestions, experiment: Experiment, trial: Trial) -> TrialOutcome:
    _check_vectors(experiment)
    process = PartialState()
    if experiment.training.processes > 1 and process.num_processes == 1 and trial.outcome() is None:
        on_gpus, processes = select_device(experiment.training) == "cuda", experiment.training.processes
        if on_gpus and processes > gpu_count():
            problem = f"is {processes}, and each process takes a GPU, of which there are {gpu_count()}"
            cure = f"Set it to {gpu_count()} or less, or training.device: cpu"
            raise CoattendError(problem, where="training.processes", cure=cure)
        arguments, name = (list(events.listeners), questions, experiment, trial), f"trial {trial.id}"
        return launch(_train_in_process, *arguments, processes=processes, name=name, on_gpus=on_gpus)
    title, seed = f"{experiment.benchmark}.{experiment.name}", trial.content["seed"]
    with trial.locked() if process.is_main_process else nullcontext():
        finished = broadcast_from_main(trial.outcome)
        if finished is not None:
            if process.is_main_process:
                run_spec.write(run_spec.run_spec_of(experiment, finished, trial.store), trial.folder)
            logger.info("%s seed %d: trial %s is done already", title, finished["seed"], trial.id)
            # A run that was killed right after the outcome was written leaves checkpoints behind.
            shutil.rmtree(trial.checkpoints, ignore_errors=True)
            return finished
        with process.main_process_first():
            checkpoint = last_checkpoint(trial.checkpoints)
        description = {"trial_id": trial.id, "name": experiment.name} | trial.content
        events.announce("trial_started", description | {"encoder": experiment.encoder_title})
        verb = "goes on from " + Path(checkpoint).name if checkpoint else "trains"
        logger.info("%s seed %d: trial %s %s", title, seed, trial.id, verb)
        # Adam's moments of words that a batch lacks decay to denormal numbers, on which CPUs are ten times slower.
        torch.set_flush_denormal(True)
        try:
            with memory_errors(experiment.training):
                outcome = _fit(questions, experiment, trial, checkpoint)
        finally:
            torch.set_flush_denormal(False)  # It would flush small numbers of other code in this process, too.
        events.announce("trial_ended", trial.id, outcome)
        return outcome


def _train_in_process(
    listeners: list[events.Listener], questions: TrainingQuestions, experiment: Experiment, trial: Trial
) -> TrialOutcome:
    """Train as one of several processes, of which only the main one has listeners."""
    events.listeners[:] = listeners if PartialState().is_main_process else []
    return _train_or_load(questions, experiment, trial)


def _fit(questions: TrainingQuestions, experiment: Experiment, trial: Trial, checkpoint: str | None) -> TrialOutcome:
    device, _ = device_and_precision(experiment.training)
    seed, commit = trial.content["seed"], code_commit(project_folder())
    arguments = arguments_of(experiment.training, trial.checkpoints, seed)
    train = questions.train
    # The seed decides the initial weights, dropout and, by way of the buckets, the order of batches.
    torch.manual_seed(seed)
    reader = initial_reader(experiment, train, trial.store, seed)
    reader.to(device)
    with PartialState().main_process_first():
        train_features, held_out_features = [
            cached_features(experiment, reader, part, trial.store) for part in (train, questions.held_out)
        ]
    train_features = with_teacher(experiment, seed, train, train_features, trial.store)
    held_out = HeldOutScorer(experiment, reader, questions.held_out, held_out_features)
    measure = Measure(trial.id, device)
    trainer = ReaderTrainer(
        train, reader, experiment, features=train_features, score=held_out.score, arguments=arguments, measure=measure
    )
    trainer.train(resume_from_checkpoint=checkpoint)

    def finish() -> TrialOutcome:
        shutil.rmtree(trial.model, ignore_errors=True)
        with disk_errors(trial.model, SafetensorError):
            reader.save(trial.model)
        outcome = outcome_of(trial, experiment, trainer.state, measure, questions)
        signs = training_diagnostics(experiment, reader, questions, trainer.state.log_history)
        answers = held_out.best_answers(trainer.state)
        threshold = null_threshold(answers, held_out.questions, train) if experiment.source.task == "span" else None
        predictions = score_answers(answers, held_out.questions, trial_id=trial.id, seed=seed, threshold=threshold)
        if commit is not None:
            outcome["commit"] = commit
        outcome["null_threshold"] = threshold
        outcome["signs"] = signs | answer_diagnostics(predictions)
        for warning in alarms(outcome["signs"]):
            logger.warning("%s.%s seed %d: %s", experiment.benchmark, experiment.name, seed, warning)
        # Weights of a frozen encoder do not count.
        outcome["parameters"] = sum(weights.numel() for weights in reader.parameters() if weights.requires_grad)
        outcome = trial.finish(outcome)
        run_spec.write(run_spec.run_spec_of(experiment, outcome, trial.store), trial.folder)
        shutil.rmtree(trial.checkpoints, ignore_errors=True)
        return outcome

    # The other processes wait, so that all machines find the trial finished.
    return broadcast_from_main(finish)


@dataclass(frozen=True)
class HeldOutScorer:
    """Scores a reader on the held-out questions, and remembers its answers at the best step."""

    experiment: Experiment
    reader: Reader
    questions: QuestionSet
    features: CachedFeatures | None
    _answers_by_step: dict[int | None, list[Answer]] = field(default_factory=dict)

    def score(self, state: TrainerState) -> tuple[float, float | None]:
        """Return the score at the current step, from 0 to 1, and the loss, None if the head has none."""
        answers = self._answer()
        for step in self._answers_by_step.keys() - {state.best_global_step}:
            del self._answers_by_step[step]
        self._answers_by_step[state.global_step] = answers
        return held_out_score(answers, self.questions), held_out_loss(answers, self.questions, self.experiment.head)

    def best_answers(self, state: TrainerState) -> list[Answer]:
        """Return the answers at the best step, whose weights the reader has at the end of the training."""
        # After a resumed training the best step may lie before the interruption.
        answers = self._answers_by_step.get(state.best_global_step)
        return self._answer() if answers is None else answers

    def _answer(self) -> list[Answer]:
        return answer_questions(self.experiment, self.reader, self.questions, features=self.features)


def outcome_of(
    trial: Trial, experiment: Experiment, state: TrainerState, measure: Measure, questions: TrainingQuestions
) -> TrialOutcome:
    """Build the outcome of a training: its configuration, cost and curve, and the questions that it left out."""
    device, bf16 = device_and_precision(experiment.training)
    log = cast("list[dict[str, Any]]", state.log_history)
    curve = [_curve_point(entry) for entry in log if "loss" in entry or "eval_score" in entry]
    train, held_out = questions.train, questions.held_out
    return {
        "trial_id": trial.id,
        "seed": trial.content["seed"],
        "folder": trial.id,
        "variant": experiment.reader,
        "head": experiment.head,
        "data": trial.content["data"],
        "benchmark_version": experiment.benchmarks[experiment.benchmark].version,
        "options": experiment.options,
        "training": trial.content["training"] | {"reads": experiment.training.reads},
        "encoder": experiment.encoder_title,
        "seconds": measure.seconds,
        "questions": len(train.examples),
        "questions_per_second": len(train.examples) * state.epoch / measure.seconds if measure.seconds else 0.0,
        "peak_memory_mib": measure.memory.mib,
        "device": device_name(device),
        "processor": processor_name(),
        "threads": torch.get_num_threads(),
        "precision": "bf16" if bf16 else "fp32",
        "tagger": experiment.source.tokens.tagger,
        "selection": experiment.training.selection,
        "best_step": cast(int, state.best_global_step),
        "held_out": state.best_metric,
        "curve": curve,
        "unreadable": [
            {"question_id": question.question_id, "reason": question.reason}
            for question in (*train.unreadable, *held_out.unreadable)
        ],
        "failure": None,
    }


def _curve_point(entry: Mapping[str, Any]) -> CurvePoint:
    point = {
        "step": entry["step"],
        "epoch": entry["epoch"],
        "loss": entry.get("loss"),
        "held_out": entry.get("eval_score"),
        "held_out_loss": entry.get("eval_loss"),
        **entry.get("readings", {}),
    }
    # Earlier code, which may have logged what was trained before an interruption, had no times of the processor.
    if "processor_seconds" in entry:
        point |= {"seconds": entry["seconds"], "processor_seconds": entry["processor_seconds"]}
    return cast(CurvePoint, point)


@dataclass(frozen=True)
class TrialRunner:
    """Trains the trials of an experiment, one by one or in other processes."""

    experiment: Experiment
    store: Path
    questions: TrainingQuestions

    @classmethod
    def of(cls, experiment: Experiment, store: Path) -> "TrialRunner":
        """Read the questions of an experiment, and log those that cannot be read."""
        return cls(experiment, store, experiment.training_questions())

    def with_training(self, values: Mapping[str, float | None]) -> "TrialRunner":
        """Return a runner for the same questions with other values of training parameters."""
        training = TrainingParameters.model_validate(self.experiment.training.model_dump() | dict(values))
        return replace(self, experiment=replace(self.experiment, training=training))

    def trial(self, seed: int) -> Trial:
        """Return the trial of a seed."""
        return Trial(_content(self.experiment, seed, self.questions.digest), self.store)

    def attempt(self, seed: int) -> tuple[TrialOutcome, Exception | None]:
        """Train the trial of a seed, or load its outcome; see `attempt`."""
        return attempt(self.questions, self.experiment, self.trial(seed))


def _content(experiment: Experiment, seed: int, data: str) -> TrialContent:
    """Gather everything that a trial's result depends on; its hash is the trial's id."""
    training = experiment.training.model_dump(mode="json", exclude=EXCLUDED_FROM_TRIAL_ID)
    training = {name: value for name, value in training.items() if UNNAMED_DEFAULTS.get(name, ...) != value}
    _, bf16 = device_and_precision(experiment.training)
    encoder = EncoderContent(digest=encoder_digest(experiment.encoder), dropout=experiment.encoder.dropout)
    if "encoder_layers" in experiment.model_options.keys() - experiment.options.keys():
        encoder["layers"] = experiment.model_options["encoder_layers"]
    vectors_file = experiment.options.get("vectors_file")
    if vectors_file is not None:
        encoder["vectors"] = _digest_or_none(Path(vectors_file))
    training |= {"start_from": experiment.parent_trial(seed), "precision": "bf16" if bf16 else "fp32"}
    if (distillation := experiment.distillation(seed)) is not None:
        training["distillation"] = distillation.model_dump(mode="json")
    if experiment.task != "options":  # Others do not combine windows.
        training.pop("over_windows", None)
    # SQuAD's scorer chooses the checkpoint by default, and is not named.
    if experiment.task == "span" and experiment.source.scorer != "squad":
        training["scorer"] = experiment.source.scorer
    # Half precision is the default of cached features, and is not named.
    if experiment.training.frozen and not bf16:
        encoder["kept"] = "float32"
    return {
        "benchmark": experiment.benchmark,
        "reader": experiment.reader,
        "head": experiment.head,
        "options": experiment.options,
        "encoder": encoder,
        "training": cast("TrainingRecord", training),
        "seed": seed,
        "data": data,
        "source": _code_digest(experiment.reader, experiment.head),
    }


def _code_digest(reader: str, head: str) -> str:
    """Hash a reader's code, which is parsed once for each change of its files."""
    return _digest_of_versions(reader, head, tuple(map(file_version, readers.sources(reader, head))))


@lru_cache(maxsize=256)
def _digest_of_versions(reader: str, head: str, _: tuple[tuple[int, ...], ...]) -> str:
    return readers.code_digest(reader, head)


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
        cure = "Name a file of vectors, in the form of GloVe's"
        raise CoattendError(f"cannot be read ({error.strerror})", where=f"vectors_file {file}", cure=cure) from None
