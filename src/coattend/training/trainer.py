"""`transformers.Trainer` for readers: bucketed batches, scores of questions, checkpoints with checksums."""

import importlib.util
import json
import logging
import math
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import torch
from accelerate import PartialState
from accelerate.data_loader import prepare_data_loader
from safetensors import SafetensorError
from safetensors.torch import save_file
from torch.utils.data import DataLoader, Dataset
from transformers import PrinterCallback, ProgressCallback, Trainer, TrainerState, TrainingArguments
from transformers.trainer import TRAINER_STATE_NAME
from transformers.trainer_utils import get_last_checkpoint
from transformers.utils import SAFE_WEIGHTS_NAME

from coattend.batches.collator import CachedFeatures
from coattend.batches.dataset import QuestionSet
from coattend.batches.examples import Example
from coattend.config import TrainingParameters
from coattend.errors import CoattendError
from coattend.io.atomic import disk_errors
from coattend.readers.batch import Batch
from coattend.readers.interfaces import require
from coattend.readers.reader import Reader
from coattend.readers.windows import read_batch
from coattend.training.callbacks import Measure, QuietProgressBar, callbacks_of
from coattend.training.distillation import TEACHER, distilled_loss
from coattend.training.distributed import BATCH_WEIGHT, LOSS_WEIGHT, ShardedCollator, broadcast_from_main
from coattend.trials.build import build_collator, entity_permutation, training_batches
from coattend.trials.device import device_and_precision
from coattend.trials.experiment import Experiment
from coattend.trials.trial import digest_of_files

COMPLETE = "complete"
"""Name of the file that completes a checkpoint: it is written last and holds the digest of the others."""

OPTIMIZERS = {"adamw": "adamw_torch_fused", "adamw_8bit": "adamw_bnb_8bit"}
"""Optimisers by their names in transformers."""

SCHEDULES = {"linear": "linear", "constant": "constant_with_warmup"}
"""Schedules of the learning rate behind its warm-up, by their names in transformers."""

logger = logging.getLogger(__name__)


class ReaderTrainer(Trainer):
    """Trains a reader on questions, perhaps with cached outputs of its frozen encoder for them. ``score`` returns the
    score on the held-out questions, from 0 to 1, and the loss there, None if it has none."""

    def __init__(
        self,
        questions: QuestionSet,
        reader: Reader,
        experiment: Experiment,
        *,
        features: CachedFeatures | None,
        score: Callable[[TrainerState], tuple[float, float | None]],
        arguments: TrainingArguments,
        measure: Measure,
    ) -> None:
        title = f"{experiment.benchmark}.{experiment.name} seed {arguments.seed}"
        super().__init__(
            model=reader,
            args=arguments,
            train_dataset=cast("Dataset[Example]", questions.examples),
            eval_dataset=[],  # The trainer requires one; `score` has the held-out questions.
            callbacks=[*callbacks_of(experiment.training, title), measure],
        )
        self._reader, self._score, self._measure = reader, score, measure
        self._over_windows, self._distillation = experiment.training.over_windows, experiment.training.distillation
        permutation = entity_permutation(experiment, arguments.seed, lambda: self.buckets.epoch)
        collator = build_collator(experiment, reader, questions, permutation=permutation, features=features)
        self.buckets, self._collator = training_batches(
            collator, questions.examples, experiment.training, seed=arguments.seed
        )
        """Indices of the questions in each batch."""
        arguments.num_train_epochs = epochs_of(experiment.training, len(self.buckets))
        self._step_weight, self._logged_weight, self._logged_steps = 0.0, 0.0, 0
        for printing_callback in (PrinterCallback, ProgressCallback):
            self.remove_callback(printing_callback)
        if not arguments.disable_tqdm:
            self.add_callback(QuietProgressBar)

    def get_train_dataloader(self) -> "DataLoader[Example]":
        """Return the loader of this process's share of the batches."""
        process, terms = PartialState(), self._collator.loss_terms
        examples = cast(Sequence[Example], self.train_dataset)
        terms_per_batch = sum(map(terms, examples)) / len(self.buckets)
        shard = ShardedCollator(self._collator, terms, terms_per_batch, process.process_index, process.num_processes)
        loader = DataLoader(cast("Dataset[Example]", self.train_dataset), batch_sampler=self.buckets, collate_fn=shard)
        # The collator takes the share, so accelerate must not split batches again.
        prepared: DataLoader[Example] = prepare_data_loader(
            loader, self.args.device, num_processes=1, process_index=0, put_on_device=True
        )
        return prepared

    def get_batch_samples(self, *arguments: Any, **keywords: Any) -> tuple[list[dict[str, Any]], Any]:
        """Take the batches of a step, and note its weight: by how much it has more terms than an average step."""
        batches, items = super().get_batch_samples(*arguments, **keywords)
        weights = [batch.pop(BATCH_WEIGHT) for batch in batches]
        self._step_weight = sum(weights) / self.args.gradient_accumulation_steps
        self._logged_weight += self._step_weight
        self._logged_steps += 1
        return batches, items

    def compute_loss(self, model: torch.nn.Module, inputs: dict[str, Any], *_: Any, **__: Any) -> torch.Tensor:
        """Return the loss of a batch: the mean over its terms (`Collator.loss_terms`), which the reader's head takes,
        times its weight, which is large where many questions share it.

        So every term counts the same, and the gradients of an epoch add up to that of the mean over all terms. If you
        change how terms are weighted, see `ShardedCollator` and `diagnostics` too, and raise `TRAINING_VERSION`:
        otherwise finished trials are not trained again.
        """
        weight: float = inputs.pop(LOSS_WEIGHT)
        teacher: torch.Tensor | None = inputs.pop(TEACHER, None)
        output = read_batch(model, Batch(**inputs), self._over_windows)
        loss = require(output.loss, "output.loss")
        if teacher is not None and self._distillation is not None:
            bounds = [scores for scores in (output.start, output.end) if scores is not None]
            scores = torch.stack(bounds, 1) if bounds else require(output.scores, "output.scores")
            loss = distilled_loss(loss, scores, teacher, self._distillation.weight)
        # The trainer divides by the batches of this step, of which the last step of an epoch may have fewer.
        return loss * weight * self.current_gradient_accumulation_steps / self.args.gradient_accumulation_steps

    def _clip_grad_norm(self, model: torch.nn.Module) -> torch.Tensor:
        """Clip the gradient of the mean over the step's terms, before its weight; return that gradient's norm."""
        limit = self.args.max_grad_norm * self._step_weight
        norm: torch.Tensor = self.accelerator.clip_grad_norm_(model.parameters(), limit)
        return norm / self._step_weight

    def log(self, logs: dict[str, Any], *arguments: Any, **keywords: Any) -> None:
        """Add the reader's own metrics, and the seconds, from which a resumed training goes on counting; turn the loss
        into the mean over all terms since it was logged last."""
        if "loss" in logs:
            logs = logs | {"loss": logs["loss"] * self._logged_steps / self._logged_weight}
            self._logged_weight, self._logged_steps = 0.0, 0
        times = {"seconds": self._measure.seconds, "processor_seconds": self._measure.processor_seconds}
        super().log(logs | times | {"readings": self._reader.extra_metrics()}, *arguments, **keywords)

    def evaluate(self, *_: Any, **__: Any) -> dict[str, float]:
        """Score the held-out questions."""
        score, loss = broadcast_from_main(lambda: self._score(self.state))
        metrics = {"eval_score": score} | ({} if loss is None else {"eval_loss": loss})
        self.log(metrics)
        self.control = self.callback_handler.on_evaluate(self.args, self.state, self.control, metrics)
        return metrics

    def _save(self, output_dir: str | None = None, state_dict: dict[str, torch.Tensor] | None = None) -> None:
        """Save copies of the weights that are not frozen: safetensors refuses tied weights, which readers may have.

        The arguments, which the trainer would pickle beside them, are those of the experiment.
        """
        if not self.args.should_save:
            return
        weights = self._reader.state_dict() if state_dict is None else state_dict
        # Frozen weights are those that the reader started with.
        frozen = self._frozen()
        folder = Path(output_dir or str(self.args.output_dir))
        folder.mkdir(parents=True, exist_ok=True)
        copies = {name: weight.clone() for name, weight in weights.items() if name not in frozen}
        save_file(copies, folder / SAFE_WEIGHTS_NAME)

    def _load_best_model(self) -> None:
        """Skip loading if the last step was the best."""
        if self.state.best_global_step != self.state.global_step:
            super()._load_best_model()

    def _issue_warnings_after_load(self, load_result: Any) -> None:
        """Do not warn of frozen weights, which checkpoints leave out."""
        missing = [name for name in load_result.missing_keys if name not in self._frozen()]
        super()._issue_warnings_after_load(load_result._replace(missing_keys=missing))

    def _frozen(self) -> set[str]:
        return {name for name, weight in self._reader.named_parameters() if not weight.requires_grad}

    def _save_checkpoint(self, model: torch.nn.Module, trial: Any) -> None:
        folder = Path(str(self.args.output_dir))
        newest = folder / f"checkpoint-{self.state.global_step}"
        with disk_errors(newest, RuntimeError, SafetensorError):
            super()._save_checkpoint(model, trial)
            # Every process writes the state of its random numbers.
            self.accelerator.wait_for_everyone()
            if PartialState().is_main_process:
                (newest / COMPLETE).write_text(digest_of_files(newest, exclude=COMPLETE))
        if not PartialState().is_main_process:
            return
        for path in folder.glob("checkpoint-*"):
            if path != newest and str(path) != self.state.best_model_checkpoint:
                remove_checkpoint(path)


def epochs_of(training: TrainingParameters, batches: int) -> float:
    """Return the epochs of a training whose epoch has so many batches: more than it names where ``min_steps`` asks for
    more steps than these have."""
    if training.min_steps is None:
        return training.epochs
    # Questions that fit into few batches would be learned in few steps, however small.
    return max(training.epochs, training.min_steps / math.ceil(batches / training.accumulate))


def arguments_of(training: TrainingParameters, folder: Path, seed: int) -> TrainingArguments:
    """Translate training parameters into the trainer's arguments.

    Raises:
        CoattendError: If the package of an optimiser of 8 bits is missing.
    """
    if training.optimizer == "adamw_8bit" and importlib.util.find_spec("bitsandbytes") is None:
        cure = "Run `pip install bitsandbytes`, or set optimizer: adamw"
        raise CoattendError("adamw_8bit needs the package bitsandbytes", where="training.optimizer", cure=cure)
    device, bf16 = device_and_precision(training)
    never = 10**9  # `Schedule` decides when to score and save.
    arguments = TrainingArguments(
        output_dir=str(folder),
        num_train_epochs=training.epochs,
        learning_rate=training.learning_rate,
        warmup_steps=training.warmup,
        optim=OPTIMIZERS[training.optimizer],
        lr_scheduler_type=SCHEDULES[training.schedule],
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
        load_best_model_at_end=True,
        metric_for_best_model="eval_score",
        greater_is_better=True,
        logging_strategy="steps",
        logging_steps=10,
        logging_nan_inf_filter=False,
        remove_unused_columns=False,
        report_to="none",
        disable_tqdm=not sys.stderr.isatty(),
        ddp_find_unused_parameters=True,  # A baseline that pools one vector does not use all weights.
    )
    # A trial takes one GPU: DataParallel would split batches within questions.
    if arguments.n_gpu > 1:
        arguments._n_gpu = 1
    return arguments


def remove_checkpoint(folder: Path) -> None:
    """Delete a checkpoint, first the file without which its remains do not count as one."""
    (folder / COMPLETE).unlink(missing_ok=True)
    shutil.rmtree(folder)


def last_checkpoint(folder: Path) -> str | None:
    """Return the newest complete checkpoint; interrupted and damaged ones are removed."""
    if not folder.is_dir():
        return None
    for path in folder.glob("checkpoint-*"):
        if not _is_complete(path):
            logger.warning("checkpoint %s was cut off or damaged and is removed", path.name)
            remove_checkpoint(path)
    newest: str | None = get_last_checkpoint(str(folder))
    if newest is None or _has_best_checkpoint(Path(newest)):
        return newest
    # The one before it may still have its best checkpoint.
    logger.warning("checkpoint %s is removed: the best one before it is gone", Path(newest).name)
    remove_checkpoint(Path(newest))
    return last_checkpoint(folder)


def _is_complete(checkpoint: Path) -> bool:
    file = checkpoint / COMPLETE
    return file.is_file() and file.read_text(errors="replace") == digest_of_files(checkpoint, exclude=COMPLETE)


def _has_best_checkpoint(checkpoint: Path) -> bool:
    """Return False if the best checkpoint is gone: the trainer would end silently with the last weights."""
    best = json.loads((checkpoint / TRAINER_STATE_NAME).read_text())["best_model_checkpoint"]
    return best is None or Path(best).is_dir()
