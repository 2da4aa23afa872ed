"""What happens beside the steps of a training: when to score and save, what to say, what it takes."""

import logging
import math
import time
from typing import Any

import torch
from transformers import ProgressCallback, TrainerCallback

from coattend.engines.progress import EVERY, left
from coattend.errors import CoattendError
from coattend.parameters import TrainingParameters
from coattend.training.devices import PeakMemory
from coattend.training.events import announce

CURVES = {
    "loss": "loss",
    "eval_score": "held_out",
    "eval_loss": "held_out_loss",
    "learning_rate": "learning_rate",
    "grad_norm": "grad_norm",
}
"""What is passed on of a log of the trainer, and what it is called there."""

logger = logging.getLogger(__name__)


def callbacks_of(training: TrainingParameters, title: str) -> list[TrainerCallback]:
    """When to score and save, what to say, and when to stop early."""
    stopping = [] if training.patience is None else [Patience(training.patience)]
    shrinking = [Shrink(training.embedding_l2)] if training.embedding_l2 else []
    return [Schedule(training.evaluations), Narrate(title), *stopping, *shrinking]


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


class Patience(TrainerCallback):
    """Stops after so many scorings without a gain; it counts in the history, so a training that was cut off counts on.

    Args:
        scorings: How many.
    """

    def __init__(self, scorings: int) -> None:
        self._scorings = scorings

    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> Any:
        """Stop a training that was cut off when it was about to stop."""
        return self.on_evaluate(args, state, control)

    def on_evaluate(self, args: Any, state: Any, control: Any, **_: Any) -> Any:
        """Decide whether to go on."""
        scores = [entry["eval_score"] for entry in state.log_history if "eval_score" in entry]
        if scores and len(scores) - 1 - scores.index(max(scores)) >= self._scorings:
            control.should_training_stop = True
        return control


class Shrink(TrainerCallback):
    """Adds the gradient of an L2 penalty on trained word vectors, so that the loss stays that of the answers.

    Args:
        factor: What the sum of their squares is multiplied by.
    """

    def __init__(self, factor: float) -> None:
        self._factor = factor

    def on_train_begin(self, args: Any, state: Any, control: Any, *, model: torch.nn.Module, **_: Any) -> None:
        """Refuse a reader that has none.

        Raises:
            CoattendError: If it trains no word vectors.
        """
        self._vectors(model)

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, *, model: torch.nn.Module, **_: Any) -> None:
        """Add it once a step, after the gradients of all batches are added up and clipped."""
        vectors = self._vectors(model)
        if vectors.grad is not None:
            vectors.grad.add_(vectors.detach(), alpha=2 * self._factor)

    def _vectors(self, model: torch.nn.Module) -> torch.nn.Parameter:
        found = dict(model.named_parameters()).get("encoder.vectors.weight")
        if found is None:
            cure = "Take a reader of words with train_vectors: true, or set it to 0"
            raise CoattendError("there are no word vectors that are trained", where="training.embedding_l2", cure=cure)
        return found


class Bar(ProgressCallback):
    """The trainer's progress bar without its log of every value."""

    def on_log(self, *_: Any, **__: Any) -> None:
        """Say nothing."""


class Narrate(TrainerCallback):
    """One line at each scoring, and where no bar is shown, one now and then between.

    Args:
        title: What is being trained.
        every: Seconds between two lines.
    """

    def __init__(self, title: str, every: float = EVERY) -> None:
        self._title, self._every = title, every
        self._began = self._told = 0.0
        self._first = 0

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Start the clock; a training that was cut off has some steps behind it."""
        self._began = self._told = time.monotonic()
        self._first = state.global_step

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Tell how far it is, unless a bar does or a scoring is about to."""
        silent = not args.disable_tqdm or control.should_evaluate
        if silent or time.monotonic() - self._told < self._every:
            return
        logger.info("%s: step %d of %d, %s", self._title, state.global_step, state.max_steps, self._left(state))
        self._told = time.monotonic()

    def _left(self, state: Any) -> str:
        first = self._first
        return left(time.monotonic() - self._began, state.global_step - first, state.max_steps - first)

    def on_evaluate(self, args: Any, state: Any, control: Any, metrics: dict[str, float], **_: Any) -> None:
        """Tell where the training is."""
        loss = next((entry["loss"] for entry in reversed(state.log_history) if "loss" in entry), float("nan"))
        done = f"step {state.global_step} of {state.max_steps}"
        rest = f", {self._left(state)}" if self._first < state.global_step < state.max_steps else ""
        logger.info("%s: %s, loss %.3f, held-out %.1f %%%s", self._title, done, loss, 100 * metrics["eval_score"], rest)
        self._told = time.monotonic()


class Measure(TrainerCallback):
    """Seconds spent on steps, peak memory and the curve; stops a training whose loss is no number."""

    def __init__(self, trial_id: str, device: str) -> None:
        self._trial_id = trial_id
        self.seconds = 0.0
        self.memory = PeakMemory(device)
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

    def on_train_end(self, args: Any, state: Any, control: Any, model: torch.nn.Module, **_: Any) -> None:
        """Refuse weights that are no numbers: no loss is taken after the last step, which may have made them so."""
        if not all(weights.isfinite().all() for weights in model.parameters()):
            raise self._diverged("weights are no finite numbers after the last step")

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, float] | None = None, **_: Any) -> None:
        """Pass the values on."""
        logs = logs or {}
        loss = logs.get("loss", 0.0)
        if not math.isfinite(loss):
            raise self._diverged(f"the loss became {loss} at step {state.global_step}")
        values = {CURVES[name]: float(value) for name, value in logs.items() if name in CURVES}
        if values:
            announce("trial_logged", self._trial_id, state.global_step, values | logs.get("readings", {}))

    def _diverged(self, problem: str) -> CoattendError:
        cure = "Lower training.learning_rate, or set training.precision to fp32"
        return CoattendError(problem, where=f"trial {self._trial_id}", cure=cure)
