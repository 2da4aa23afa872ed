"""Callbacks of the trainer: the schedule of scoring and saving, early stopping, progress, and cost."""

import logging
import math
import time
from typing import Any

import torch
from transformers import ProgressCallback, TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from coattend.config import TrainingParameters
from coattend.errors import CoattendError
from coattend.parallel.progress import LOG_INTERVAL_S, remaining_time
from coattend.training.events import announce
from coattend.trials.device import PeakMemory

CURVE_NAMES = {
    "loss": "loss",
    "eval_score": "held_out",
    "eval_loss": "held_out_loss",
    "learning_rate": "learning_rate",
    "grad_norm": "grad_norm",
}
"""Values of the trainer's log that listeners receive, with their names in curves."""

logger = logging.getLogger(__name__)


def callbacks_of(training: TrainingParameters, title: str) -> list[TrainerCallback]:
    """Return the callbacks that the training parameters ask for."""
    callbacks: list[TrainerCallback] = [Schedule(training.evaluations), ProgressLog(title)]
    if training.patience is not None:
        callbacks.append(Patience(training.patience))
    if training.embedding_l2:
        callbacks.append(EmbeddingL2(training.embedding_l2))
    return callbacks


class Schedule(TrainerCallback):
    """Scores and saves at evenly spaced steps, including the last one."""

    def __init__(self, evaluations: int) -> None:
        self._evaluations = evaluations

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> TrainerControl:
        """Score and save if a step is due."""
        # Rounded up, so that there are never more evaluations than configured.
        interval = max(1, -(-state.max_steps // self._evaluations))
        is_last = state.global_step >= state.max_steps
        if is_last or state.global_step % interval == 0:
            control.should_log = control.should_evaluate = control.should_save = True
        return control


class Patience(TrainerCallback):
    """Stops early after a number of evaluations without a gain, counted in the trainer's history, so that a resumed
    training goes on counting."""

    def __init__(self, evaluations: int) -> None:
        self._evaluations = evaluations

    def on_step_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> TrainerControl:
        """Stop a training that was interrupted when it was about to stop."""
        return self.on_evaluate(args, state, control)

    def on_evaluate(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> TrainerControl:
        """Stop if the best score is too many evaluations old."""
        scores = [entry["eval_score"] for entry in state.log_history if "eval_score" in entry]
        if scores and len(scores) - 1 - scores.index(max(scores)) >= self._evaluations:
            control.should_training_stop = True
        return control


class EmbeddingL2(TrainerCallback):
    """Adds the gradient of an L2 penalty on trained word vectors, a factor times the sum of their squares, while the
    loss stays that of the answers."""

    def __init__(self, factor: float) -> None:
        self._factor = factor

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **context: Any
    ) -> None:
        """Check that the reader trains word vectors."""
        self._vectors(context["model"])

    def on_pre_optimizer_step(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **context: Any
    ) -> None:
        """Add the penalty's gradient once per step, after gradients are accumulated and clipped."""
        vectors = self._vectors(context["model"])
        if vectors.grad is not None:
            vectors.grad.add_(vectors.detach(), alpha=2 * self._factor)

    def _vectors(self, model: torch.nn.Module) -> torch.nn.Parameter:
        vectors = dict(model.named_parameters()).get("encoder.vectors.weight")
        if vectors is None:
            cure = "Take a reader of words with train_vectors: true, or set it to 0"
            raise CoattendError("there are no word vectors that are trained", where="training.embedding_l2", cure=cure)
        return vectors


class QuietProgressBar(ProgressCallback):
    """The trainer's progress bar, without the values of the log."""

    def on_log(self, *_: Any, **__: Any) -> None:
        """Print nothing."""


class ProgressLog(TrainerCallback):
    """Logs a line at each evaluation and, without a progress bar, at intervals of some seconds in between."""

    def __init__(self, title: str, interval: float = LOG_INTERVAL_S) -> None:
        self._title, self._interval = title, interval
        self._start_time = self._last_log = 0.0
        self._first_step = 0

    def on_train_begin(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        """Start the clock; a resumed training does not begin at step 0."""
        self._start_time = self._last_log = time.monotonic()
        self._first_step = state.global_step

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        """Log the progress, unless a progress bar or an evaluation is about to show it."""
        silent = not args.disable_tqdm or control.should_evaluate
        if silent or time.monotonic() - self._last_log < self._interval:
            return
        logger.info("%s: step %d of %d, %s", self._title, state.global_step, state.max_steps, self._remaining(state))
        self._last_log = time.monotonic()

    def _remaining(self, state: TrainerState) -> str:
        steps, total = state.global_step - self._first_step, state.max_steps - self._first_step
        return remaining_time(time.monotonic() - self._start_time, steps, total)

    def on_evaluate(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **context: Any
    ) -> None:
        """Log the step, the loss and the held-out score."""
        loss = next((entry["loss"] for entry in reversed(state.log_history) if "loss" in entry), float("nan"))
        step = f"step {state.global_step} of {state.max_steps}"
        rest = f", {self._remaining(state)}" if self._first_step < state.global_step < state.max_steps else ""
        score = 100 * context["metrics"]["eval_score"]
        logger.info("%s: %s, loss %.3f, held-out %.1f %%%s", self._title, step, loss, score, rest)
        self._last_log = time.monotonic()


class Measure(TrainerCallback):
    """Measures peak memory and the seconds of training, by the clock and of the processor; passes the curve on, and
    stops a training that diverged.

    The clocks run from the beginning to the last step, batches included, and stand still while questions are scored and
    checkpoints are saved. Before they stop they wait for the GPU, which works through what a processor has started long
    after that.
    """

    def __init__(self, trial_id: str, device: str) -> None:
        self._trial_id, self._device = trial_id, device
        self.memory = PeakMemory(device)
        self._before = (0.0, 0.0)
        self._start: tuple[float, float] | None = None

    @property
    def seconds(self) -> float:
        """Seconds by the clock until now."""
        return self._times()[0]

    @property
    def processor_seconds(self) -> float:
        """Seconds of the processor until now."""
        return self._times()[1]

    def _times(self) -> tuple[float, float]:
        if self._start is None:
            return self._before
        now = time.perf_counter(), time.process_time()
        return self._before[0] + now[0] - self._start[0], self._before[1] + now[1] - self._start[1]

    def on_train_begin(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        """Take over the seconds before an interruption, and start the clocks."""
        names = ("seconds", "processor_seconds")
        seconds, processor = (max((entry.get(name, 0.0) for entry in state.log_history), default=0.0) for name in names)
        self._before = seconds, processor
        self._start = time.perf_counter(), time.process_time()

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        """Stop the clocks before what is no training."""
        if control.should_evaluate or control.should_save or control.should_training_stop:
            if self._device == "cuda":
                torch.cuda.synchronize()
            self._before, self._start = self._times(), None

    def on_save(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        """Start the clocks again, behind the score and the checkpoint, unless this was the last step."""
        if state.global_step < state.max_steps and not control.should_training_stop:
            self._start = time.perf_counter(), time.process_time()

    def on_train_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **context: Any
    ) -> None:
        """Check that the weights are finite: no logged loss shows that the last step diverged."""
        if not all(weights.isfinite().all() for weights in context["model"].parameters()):
            raise self._diverged("some weights are not finite after the last step")

    def on_log(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **context: Any) -> None:
        """Pass the values on to listeners, and stop if the loss is not finite."""
        logs: dict[str, Any] = context["logs"]
        loss = logs.get("loss", 0.0)
        if not math.isfinite(loss):
            raise self._diverged(f"the loss became {loss} at step {state.global_step}")
        values = {CURVE_NAMES[name]: float(value) for name, value in logs.items() if name in CURVE_NAMES}
        if values:
            announce("trial_logged", self._trial_id, state.global_step, values | logs.get("readings", {}))

    def _diverged(self, problem: str) -> CoattendError:
        cure = "Lower training.learning_rate, or set training.precision to fp32"
        return CoattendError(problem, where=f"trial {self._trial_id}", cure=cure)
