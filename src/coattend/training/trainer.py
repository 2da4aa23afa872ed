"""`transformers.Trainer` for readers: bucketed batches, scores of whole questions, whole checkpoints."""

import logging
import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import DataLoader
from transformers import (
    EarlyStoppingCallback,
    PrinterCallback,
    ProgressCallback,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)
from transformers.trainer_utils import get_last_checkpoint

from coattend.errors import CoattendError
from coattend.parameters import TrainingParameters
from coattend.readers.batch import Batch
from coattend.training.batching import LengthBuckets
from coattend.training.collation import Collator
from coattend.training.devices import PeakMemory
from coattend.training.events import announce
from coattend.training.examples import Example

COMPLETE = "complete"
"""Name of the file that is written into a checkpoint last."""

logger = logging.getLogger(__name__)


class ReaderTrainer(Trainer):
    """Trains a reader on examples and scores it with a function of the reader.

    Args:
        reader: The reader.
        examples: Training examples.
        buckets: Which examples make a batch.
        collator: Makes a batch's tensors.
        score: Scores the reader on the held-out questions, from 0 to 1.
        arguments: The trainer's arguments.
        callbacks: Its callbacks.
        measure: Counts seconds and memory.
    """

    def __init__(
        self,
        reader: torch.nn.Module,
        examples: Sequence[Example],
        *,
        buckets: LengthBuckets,
        collator: Collator,
        score: Callable[[], float],
        arguments: TrainingArguments,
        callbacks: list[TrainerCallback],
        measure: "Measure",
    ) -> None:
        super().__init__(
            model=reader,
            args=arguments,
            train_dataset=examples,
            eval_dataset=[],  # `score` knows the held-out questions; the trainer only wants to see some.
            callbacks=[*callbacks, measure],
        )
        self._buckets, self._collator, self._score, self._measure = buckets, collator, score, measure
        for talkative in (PrinterCallback, ProgressCallback):
            self.remove_callback(talkative)
        if not arguments.disable_tqdm:
            self.add_callback(Bar)

    def get_train_dataloader(self) -> DataLoader:
        """Whole questions of like length under a budget of tokens."""
        loader = DataLoader(self.train_dataset, batch_sampler=self._buckets, collate_fn=self._collator)
        return self.accelerator.prepare(loader)

    def compute_loss(self, model: torch.nn.Module, inputs: dict[str, Any], *_: Any, **__: Any) -> torch.Tensor:
        """The reader's own loss."""
        return model(Batch(**inputs)).loss

    def log(self, logs: dict[str, float], *arguments: Any, **named: Any) -> None:
        """Note the seconds beside every point, so that a training that was cut off counts on."""
        super().log(logs | {"seconds": self._measure.seconds}, *arguments, **named)

    def evaluate(self, *_: Any, **__: Any) -> dict[str, float]:
        """Score the held-out questions."""
        metrics = {"eval_score": self._score()}
        self.log(metrics)
        self.control = self.callback_handler.on_evaluate(self.args, self.state, self.control, metrics)
        return metrics

    def _save_checkpoint(self, model: torch.nn.Module, trial: Any) -> None:
        super()._save_checkpoint(model, trial)
        folder = Path(self.args.output_dir) / f"checkpoint-{self.state.global_step}"
        (folder / COMPLETE).touch()


class Schedule(TrainerCallback):
    """Scores and saves at evenly spaced steps, the last one among them; logs the loss between."""

    def __init__(self, evaluations: int) -> None:
        self._evaluations = evaluations

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> Any:
        """Decide what happens after this step."""
        every = max(1, -(-state.max_steps // self._evaluations))
        last = state.global_step >= state.max_steps
        if last or state.global_step % every == 0:
            control.should_log = control.should_evaluate = control.should_save = True
        return control


class Bar(ProgressCallback):
    """The trainer's progress bar without its log of every value."""

    def on_log(self, *_: Any, **__: Any) -> None:
        """Say nothing."""


class Narrate(TrainerCallback):
    """One line at each scoring.

    Args:
        title: What is being trained.
    """

    def __init__(self, title: str) -> None:
        self._title = title

    def on_evaluate(self, args: Any, state: Any, control: Any, metrics: dict[str, float], **_: Any) -> None:
        """Tell where the training is."""
        loss = next((entry["loss"] for entry in reversed(state.log_history) if "loss" in entry), float("nan"))
        done = f"step {state.global_step} of {state.max_steps}"
        logger.info("%s: %s, loss %.3f, held-out %.1f %%", self._title, done, loss, 100 * metrics["eval_score"])


class Measure(TrainerCallback):
    """Seconds spent on steps, peak memory and the curve; stops a training whose loss is no number."""

    def __init__(self, trial_id: str) -> None:
        self._trial_id = trial_id
        self.seconds = 0.0
        self.memory = PeakMemory()
        self._began = 0.0

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Take over what was counted before the training was cut off."""
        self.seconds = max((entry.get("seconds", 0.0) for entry in state.log_history), default=0.0)

    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Start the clock."""
        self._began = time.perf_counter()

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Stop the clock."""
        self.seconds += time.perf_counter() - self._began
        self.memory.look()

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, float] | None = None, **_: Any) -> None:
        """Pass the values on."""
        logs = logs or {}
        loss = logs.get("loss", 0.0)
        if loss != loss or loss == float("inf"):
            raise CoattendError(
                f"the loss became {loss} at step {state.global_step}",
                where=f"trial {self._trial_id}",
                cure="Lower training.learning_rate, or set training.precision to fp32",
            )
        known = {"loss": "loss", "eval_score": "held_out", "learning_rate": "learning_rate", "grad_norm": "grad_norm"}
        values = {known[name]: float(value) for name, value in logs.items() if name in known}
        if values:
            announce("trial_logged", self._trial_id, state.global_step, values)


def arguments_of(
    training: TrainingParameters, *, folder: Path, seed: int, device: str, bf16: bool, quiet: bool
) -> TrainingArguments:
    """The trainer's arguments for our parameters."""
    never = 10**9  # Schedule decides when to score and save.
    return TrainingArguments(
        output_dir=str(folder),
        num_train_epochs=training.epochs,
        learning_rate=training.learning_rate,
        warmup_steps=training.warmup,
        weight_decay=training.weight_decay,
        max_grad_norm=training.clip,
        gradient_accumulation_steps=training.accumulate,
        bf16=bf16,
        use_cpu=device == "cpu",
        seed=seed,
        eval_strategy="steps",
        eval_steps=never,
        save_strategy="steps",
        save_steps=never,
        save_total_limit=1,
        load_best_model_at_end=True,
        metric_for_best_model="eval_score",
        greater_is_better=True,
        logging_strategy="steps",
        logging_steps=10,
        logging_nan_inf_filter=False,
        remove_unused_columns=False,
        report_to="none",
        disable_tqdm=quiet,
    )


def callbacks_of(training: TrainingParameters, title: str) -> list[TrainerCallback]:
    """When to score and save, what to say, and when to stop early."""
    stopping = [] if training.patience is None else [EarlyStoppingCallback(training.patience)]
    return [Schedule(training.evaluations), Narrate(title), *stopping]


def last_checkpoint(folder: Path) -> str | None:
    """The newest whole checkpoint; remains of checkpoints that were cut off are removed."""
    for path in folder.glob("checkpoint-*") if folder.is_dir() else ():
        if not (path / COMPLETE).exists():
            logger.warning("checkpoint %s was cut off and is removed", path.name)
            shutil.rmtree(path)
    return get_last_checkpoint(str(folder)) if folder.is_dir() else None
