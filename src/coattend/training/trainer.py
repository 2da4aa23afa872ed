"""`transformers.Trainer` for readers: bucketed batches, scores of whole questions, whole checkpoints."""

import json
import logging
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from accelerate.data_loader import prepare_data_loader
from safetensors import SafetensorError
from torch.utils.data import DataLoader
from transformers import (
    PrinterCallback,
    ProgressCallback,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)
from transformers.trainer import TRAINER_STATE_NAME
from transformers.trainer_utils import get_last_checkpoint

from coattend.datasets.atomic import writing
from coattend.parameters import TrainingParameters
from coattend.readers.batch import Batch
from coattend.readers.reader import Reader
from coattend.training.batching import LengthBuckets
from coattend.training.callbacks import Bar, Measure
from coattend.training.collation import Collator
from coattend.training.examples import Example
from coattend.training.together import SHARE, Shares, is_first, of_first
from coattend.training.trial import digest_of_files

COMPLETE = "complete"
"""Name of the file that is written into a checkpoint last: the digest of the others."""

logger = logging.getLogger(__name__)


class ReaderTrainer(Trainer):
    """Trains a reader on examples and scores it with a function of the reader.

    Args:
        reader: The reader.
        examples: Training examples.
        buckets: Which examples make a batch.
        collator: Makes a batch's tensors.
        score: The reader's score on the held-out questions, from 0 to 1, and its loss there, None where it has none.
        arguments: The trainer's arguments.
        callbacks: Its callbacks.
        measure: Counts seconds and memory.
    """

    def __init__(
        self,
        reader: Reader,
        examples: Sequence[Example],
        *,
        buckets: LengthBuckets,
        collator: Collator,
        score: Callable[[], tuple[float, float | None]],
        arguments: TrainingArguments,
        callbacks: list[TrainerCallback],
        measure: Measure,
    ) -> None:
        super().__init__(
            model=reader,
            args=arguments,
            train_dataset=examples,
            eval_dataset=[],  # `score` knows the held-out questions; the trainer only wants to see some.
            callbacks=[*callbacks, measure],
        )
        self._buckets, self._collator, self._score, self._measure = buckets, collator, score, measure
        self._readings = reader.readings
        for talkative in (PrinterCallback, ProgressCallback):
            self.remove_callback(talkative)
        if not arguments.disable_tqdm:
            self.add_callback(Bar)

    def get_train_dataloader(self) -> DataLoader:
        """Whole questions of like length under a budget of tokens."""
        shares = Shares(self._collator, self._collator.losses)
        loader = DataLoader(self.train_dataset, batch_sampler=self._buckets, collate_fn=shares)
        # Every process draws all batches, and takes its share of each.
        return prepare_data_loader(loader, self.args.device, num_processes=1, process_index=0, put_on_device=True)

    def compute_loss(self, model: torch.nn.Module, inputs: dict[str, Any], *_: Any, **__: Any) -> torch.Tensor:
        """The reader's own loss; of several processes, weighed so that their mean is the loss of the whole batch."""
        share = inputs.pop(SHARE)
        return model(Batch(**inputs)).loss * share

    def log(self, logs: dict[str, float], *arguments: Any, **named: Any) -> None:
        """Note the reader's readings beside every point, and the seconds, so that one that was cut off counts on."""
        beside = {"readings": self._readings(), "seconds": self._measure.seconds}
        super().log(logs | beside, *arguments, **named)

    def evaluate(self, *_: Any, **__: Any) -> dict[str, float]:
        """Score the held-out questions."""
        score, loss = of_first(self._score)
        metrics = {"eval_score": score} | ({} if loss is None else {"eval_loss": loss})
        self.log(metrics)
        self.control = self.callback_handler.on_evaluate(self.args, self.state, self.control, metrics)
        return metrics

    def _save(self, output_dir: str | None = None, state_dict: dict[str, torch.Tensor] | None = None) -> None:
        """A copy of every weight that is not frozen: a file refuses two names of one tensor, which readers may have."""
        weights = self.model.state_dict() if state_dict is None else state_dict
        frozen = self._frozen()
        super()._save(output_dir, {name: weight.clone() for name, weight in weights.items() if name not in frozen})

    def _load_best_model(self) -> None:
        """Nothing where the last step was the best: its weights are those that there are."""
        if self.state.best_global_step != self.state.global_step:
            super()._load_best_model()

    def _issue_warnings_after_load(self, load_result: Any) -> None:
        """Frozen weights are as the reader began with them, and so are not missed in a checkpoint."""
        others = [name for name in load_result.missing_keys if name not in self._frozen()]
        super()._issue_warnings_after_load(load_result._replace(missing_keys=others))

    def _frozen(self) -> set[str]:
        return {name for name, weight in self.model.named_parameters() if not weight.requires_grad}

    def _save_checkpoint(self, model: torch.nn.Module, trial: Any) -> None:
        folder = Path(self.args.output_dir)
        newest = folder / f"checkpoint-{self.state.global_step}"
        with writing(newest, RuntimeError, SafetensorError):
            super()._save_checkpoint(model, trial)
            self.accelerator.wait_for_everyone()
            if is_first():
                (newest / COMPLETE).write_text(digest_of_files(newest, but=COMPLETE))
        if not is_first():
            return
        for path in folder.glob("checkpoint-*"):
            if path != newest and str(path) != self.state.best_model_checkpoint:
                remove_checkpoint(path)


def arguments_of(
    training: TrainingParameters, *, folder: Path, seed: int, device: str, bf16: bool, quiet: bool
) -> TrainingArguments:
    """The trainer's arguments for our parameters."""
    never = 10**9  # Schedule decides when to score and save.
    arguments = TrainingArguments(
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
        load_best_model_at_end=True,
        metric_for_best_model="eval_score",
        greater_is_better=True,
        logging_strategy="steps",
        logging_steps=10,
        logging_nan_inf_filter=False,
        remove_unused_columns=False,
        report_to="none",
        disable_tqdm=quiet,
        ddp_find_unused_parameters=True,  # A baseline that pools one vector leaves others' weights alone.
    )
    # Where there are several GPUs, a trial takes one: batches are of whole questions, which DataParallel would cut up.
    if arguments.n_gpu > 1:
        arguments._n_gpu = 1
    return arguments


def remove_checkpoint(folder: Path) -> None:
    """Delete a checkpoint so that what is left of it, if this is cut off, counts as no checkpoint."""
    (folder / COMPLETE).unlink(missing_ok=True)
    shutil.rmtree(folder)


def last_checkpoint(folder: Path) -> str | None:
    """The newest whole checkpoint; what is left of those that were cut off or damaged is removed."""
    if not folder.is_dir():
        return None
    for path in folder.glob("checkpoint-*"):
        if not _is_whole(path):
            logger.warning("checkpoint %s was cut off or damaged and is removed", path.name)
            remove_checkpoint(path)
    newest = get_last_checkpoint(str(folder))
    if newest is None or _has_its_best(Path(newest)):
        return newest
    logger.warning("checkpoint %s is removed: the best one before it is gone", Path(newest).name)
    remove_checkpoint(Path(newest))
    return last_checkpoint(folder)


def _is_whole(checkpoint: Path) -> bool:
    file = checkpoint / COMPLETE
    return file.is_file() and file.read_text(errors="replace") == digest_of_files(checkpoint, but=COMPLETE)


def _has_its_best(checkpoint: Path) -> bool:
    """The trainer would end with the last weights, and not say so, where the best ones are gone."""
    best = json.loads((checkpoint / TRAINER_STATE_NAME).read_text())["best_model_checkpoint"]
    return best is None or Path(best).is_dir()
