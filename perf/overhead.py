"""The cost of a study's hundred trials beside their training: finding that they are done, and all but their steps."""

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import count
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple, cast

import torch
from transformers import (
    PrinterCallback,
    Trainer,
    TrainerCallback,
    TrainerControl,
    TrainerState,
    TrainingArguments,
    trainer,
)

from coattend.evaluation.records import TrialRecord
from coattend.inference.predict import answer_questions
from coattend.readers.batch import Batch
from coattend.training.run_trial import TrialRunner
from coattend.trials.build import build_collator, build_reader
from coattend.trials.device import single_thread
from perf.prepared import SAMPLE, Prepared
from perf.timing import alternate

TRIALS = 100
SMALL = {"seeds": [0], "max_questions": 8, "epochs": 1, "evaluations": 1}
ONE_STEP = SMALL | {"tokens_per_batch": 100_000}
A_MINUTE = 60 * 10**9
TINY = {"hidden": 8, "vectors": "random", "vector_width": 8}


class Seconds(NamedTuple):
    """Seconds by the clock, and of the processor: those that other work on the machine hardly changes."""

    clock: float
    processor: float

    @classmethod
    def now(cls) -> "Seconds":
        """The time now, from which differences are taken."""
        return cls(time.perf_counter(), time.process_time())

    def until(self, later: "Seconds") -> "Seconds":
        """The seconds between two times."""
        return Seconds(later.clock - self.clock, later.processor - self.processor)

    def rounded(self) -> dict[str, float]:
        """Both as figures."""
        return {"clock": round(self.clock, 2), "processor": round(self.processor, 2)}


def measure(prepared: Prepared, rounds: int, batches: int) -> dict[str, Any]:
    """Time going through trials that are done, and new trials without their steps."""
    return {"trials": TRIALS, **revisit_trials(prepared, rounds), **train_tiny_trials(prepared, rounds)}


def revisit_trials(prepared: Prepared, rounds: int) -> dict[str, dict[str, float]]:
    """Time finding that trials of the plain reader are done, each time in a new process that has read the questions.

    ``done`` are trials as they were written, ``changed`` those whose files look changed, so that all are read.
    """
    experiment = prepared.experiment(SAMPLE, "plain", training=SMALL)
    with tempfile.TemporaryDirectory() as folder:
        work = TrialRunner.of(experiment, Path(folder, "trials"))
        outcome = attempt(work, 0)
        for seed in range(1, TRIALS + 1):  # As if it had been trained: training's time is not measured here.
            trial = work.trial(seed)
            shutil.copytree(work.trial(0).model, trial.model)
            with trial.locked():
                new = {key: value for key, value in outcome.items() if key not in trial.content}
                trial.finish(cast(TrialRecord, new | {"seed": seed}))
        in_new_process(partial(go_through, work, TRIALS))  # Writes each trial's run specification.

        def done() -> Seconds:
            return in_new_process(partial(go_through, work, TRIALS))

        def changed() -> Seconds:
            for path in Path(folder).rglob("*"):
                state = path.stat()
                os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns - A_MINUTE))
            return done()

        return take_turns({"done": done, "changed": changed}, rounds)


def go_through(work: TrialRunner, trials: int) -> Seconds:
    """Find that trials are done; one more trial warms up this process."""
    attempt(work, trials)
    start = Seconds.now()
    for seed in range(trials):
        attempt(work, seed)
    return start.until(Seconds.now())


def in_new_process(function: Callable[[], Seconds]) -> Seconds:
    """Call a function in a process that remembers nothing, and has one thread, as seconds of more would add up."""
    with ProcessPoolExecutor(
        1, mp_context=get_context("spawn"), initializer=torch.set_num_threads, initargs=(1,)
    ) as pool:
        return pool.submit(function).result()


def train_tiny_trials(prepared: Prepared, rounds: int) -> dict[str, dict[str, float]]:
    """Time new trials of a tiny reader of words, one step each, without these steps.

    ``least`` is the part that transformers' own trainer and the reader take: it is built, its batch is made and read in
    one step, a checkpoint is written, and the questions held out are answered. Records and weights are not written.
    """
    experiment = prepared.experiment(SAMPLE, "aoa_reader", training=ONE_STEP, **TINY)
    # Seconds of the processor add up over threads.
    with tempfile.TemporaryDirectory() as folder, single_thread():
        work = TrialRunner.of(experiment, Path(folder, "trials"))
        seeds = count()
        ways: dict[str, Callable[[], object]] = {
            "new": lambda: attempt(work, next(seeds)),
            "least": lambda: train_plainly(work, Path(folder, "plain", str(next(seeds)))),
        }

        def without_steps(train: Callable[[], object]) -> Seconds:
            StepClock.seconds, start = Seconds(0, 0), Seconds.now()
            for _ in range(TRIALS):
                train()
            return StepClock.seconds.until(start.until(Seconds.now()))

        callbacks = cast(list[type[TrainerCallback]], trainer.DEFAULT_CALLBACKS)
        callbacks.append(StepClock)
        try:
            for train in ways.values():  # Warm up.
                train()
            return take_turns({name: partial(without_steps, train) for name, train in ways.items()}, rounds)
        finally:
            callbacks.remove(StepClock)


class StepClock(TrainerCallback):
    """Adds up the seconds of the steps of all trainings in this process."""

    seconds = start = Seconds(0, 0)

    def on_step_begin(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        """Start the clock."""
        StepClock.start = Seconds.now()

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        """Stop the clock."""
        step, before = StepClock.start.until(Seconds.now()), StepClock.seconds
        StepClock.seconds = Seconds(before.clock + step.clock, before.processor + step.processor)


class PlainTrainer(Trainer):
    """Transformers' trainer with no more than what it takes to train a reader."""

    def compute_loss(self, model: torch.nn.Module, inputs: dict[str, Any], *_: Any, **__: Any) -> torch.Tensor:
        """Return the loss of a batch."""
        loss: torch.Tensor = model(Batch(**inputs)).loss
        return loss


def train_plainly(work: TrialRunner, folder: Path) -> None:
    """Train a reader for a step, write a checkpoint, and answer the questions held out."""
    train, experiment = work.questions.train, work.experiment
    reader = build_reader(experiment, train)
    arguments = TrainingArguments(
        output_dir=str(folder),
        num_train_epochs=1,
        per_device_train_batch_size=len(train.examples),
        save_strategy="epoch",
        remove_unused_columns=False,
        use_cpu=True,
        report_to="none",
        disable_tqdm=True,
    )
    collator = build_collator(experiment, reader, train)
    plain = PlainTrainer(reader, arguments, data_collator=collator, train_dataset=train.examples)
    plain.remove_callback(PrinterCallback)
    plain.train()
    answer_questions(experiment, reader, work.questions.held_out)


def take_turns(ways: Mapping[str, Callable[[], Seconds]], rounds: int) -> dict[str, dict[str, float]]:
    """Take each way once a round, and return the medians of both kinds of seconds."""
    taken = alternate(ways, rounds)
    return {
        name: Seconds(*(median(column) for column in zip(*seconds, strict=True))).rounded()
        for name, seconds in taken.items()
    }


def attempt(work: TrialRunner, seed: int) -> TrialRecord:
    """Train a trial, or find that it is done, and return its outcome."""
    outcome, error = work.attempt(seed)
    if error is not None:
        raise error
    return outcome
