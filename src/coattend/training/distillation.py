"""Distillation: a reader learns from another one's scores of options or spans, beside the right answers.

A joint reader, whose passage has seen the question, can teach one whose passage is read once. DeFormer (Cao et al.,
2020) adds a loss over hidden states to this one over answers.

Shapes: B questions, C options, S sequences (a question for a span has one for each window), P tokens of the passage
domain.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor

from coattend.batches.collator import CachedFeatures
from coattend.batches.dataset import QuestionSet
from coattend.batches.examples import Example
from coattend.config.reader import can_be_taught
from coattend.errors import CoattendError
from coattend.evaluation.records import TrialRecord
from coattend.inference.predict import load_trained, predict, predictions_file, read_questions
from coattend.parallel.progress import track_progress
from coattend.readers.interfaces import require
from coattend.training.distributed import broadcast_from_main
from coattend.trials import run_spec
from coattend.trials.build import check_trained
from coattend.trials.device import device_and_precision
from coattend.trials.experiment import Experiment

TEACHER = "teacher"
"""Key of the teacher's probabilities beside the tensors of a batch: of options [B, C], or of the first and the last
token of a span [S, 2, P]; 0 at padding."""

WHERE = "training.distillation"

TAUGHT_SPANS = pa.schema(
    [("question_id", pa.string()), ("start", pa.list_(pa.float32())), ("end", pa.list_(pa.float32()))]
)
"""Probabilities of the first and the last token of a span, a row for each sequence of a question."""

Probabilities = dict[str, list[np.ndarray]]
"""A teacher's by question: one array of options [C], or one for each sequence [2, P]."""


def with_teacher(
    experiment: Experiment, seed: int, questions: QuestionSet, features: CachedFeatures | None, store: Path
) -> CachedFeatures | None:
    """Return what adds a teacher's probabilities to batches, beside cached features; these alone without a teacher.

    The teacher reads each training question once, as the learning reader is given it, however many it teaches.

    Raises:
        CoattendError: If the reader does not score all options or tokens, or the teacher is gone, does not, or reads
            other texts.
    """
    distillation = experiment.distillation(seed)
    if distillation is None:
        return features
    probabilities = broadcast_from_main(lambda: _ask(experiment, distillation.teacher, questions, store))

    def add(examples: Sequence[Example], arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        rows = [row for example in examples for row in probabilities[example.question_id]]
        # Options have a place each, and tokens that of the passage domain.
        places = arrays["passage_mask"].shape[1] if rows[0].ndim == 2 else max(map(len, rows))
        padded = np.zeros((len(rows), *rows[0].shape[:-1], places), np.float32)
        for number, row in enumerate(rows):
            padded[number, ..., : row.shape[-1]] = row
        return (features(examples, arrays) if features is not None else {}) | {TEACHER: padded}

    return add


def _ask(experiment: Experiment, trial: str, questions: QuestionSet, store: Path) -> Probabilities:
    """Return a teacher's probabilities of each question's options, or of the first and the last token of its span."""
    if not can_be_taught(experiment.head, experiment.options):
        problem = (
            f"teaches scores of options or of tokens, and {experiment.name} answers by the head {experiment.head!r}"
        )
        raise CoattendError(problem, where=WHERE, cure="Set it to null")
    outcome = check_trained(store, trial, where=f"{WHERE}.teacher")
    spec, tokens = run_spec.read(store / trial), experiment.source.tokens
    if spec.language_model is not None or (spec.task, spec.tokenizer, spec.tagger) != (
        experiment.task,
        experiment.tokenizer,
        tokens.tagger,
    ):
        problem = f"the trial {trial!r} answers another task, or was not trained on texts with these tokens and tags"
        raise CoattendError(problem, where=f"{WHERE}.teacher", cure="Name a trial with the same tokenizer and tagging")
    teacher = f"{experiment.name}'s teacher"
    asked = replace(experiment, name=teacher, reader=spec.reader, head=spec.head, options=spec.options)
    if not can_be_taught(asked.head, asked.options):
        problem = f"the trial {trial!r} answers by the head {asked.head!r}, which does not score all answers"
        raise CoattendError(problem, where=f"{WHERE}.teacher", cure="Name a trial with the head span or pointer")
    # What it says waits beside its weights for the next reader that it teaches the same questions.
    # It is asked in the precision of the reader that learns, whose trial would else depend on who asked first.
    precision = "bf16" if device_and_precision(experiment.training)[1] else "fp32"
    file = f"teaching-{precision}-{predictions_file(asked, questions)}"
    taught: Probabilities = {}
    if experiment.task == "options":
        answers = predict(asked, outcome, questions, store, file)
        for name, scores in zip(*(answers[column].to_pylist() for column in ("question_id", "scores")), strict=True):
            taught[name] = [torch.tensor(scores).softmax(0).numpy()]
        return taught
    said = predict(asked, outcome, questions, store, file, compute=_span_probabilities, schema=TAUGHT_SPANS)
    # A view of each list, since objects for all numbers would take much memory.
    lists = [said[column].combine_chunks() for column in ("start", "end")]
    numbers, offsets = [column.flatten().to_numpy() for column in lists], lists[0].offsets.to_numpy()
    for name, begin, end in zip(said["question_id"].to_pylist(), offsets[:-1], offsets[1:], strict=True):
        taught.setdefault(name, []).append(np.stack([of_bound[begin:end] for of_bound in numbers]))
    return taught


def _span_probabilities(experiment: Experiment, trial: TrialRecord, questions: QuestionSet, folder: Path) -> pa.Table:
    """Ask a trial's reader for the probabilities of the first and the last token in every sequence."""
    experiment, reader, features = load_trained(experiment, trial, questions, folder)

    def sequences_of_each() -> Generator[list[dict[str, Any]], None, None]:
        for output, batch, examples, _ in read_questions(experiment, reader, questions, features):
            scores = torch.stack([require(output.start, "output.start"), require(output.end, "output.end")], 1)
            rows = zip(scores.float().softmax(-1).cpu().numpy(), batch.passage_mask.sum(1).tolist(), strict=True)
            for example in examples:
                said = [probabilities[:, :length] for probabilities, length in islice(rows, len(example.sequences))]
                yield [{"question_id": example.question_id, "start": start, "end": end} for start, end in said]

    title = f"{experiment.benchmark}.{experiment.name}, questions that it teaches"
    each = track_progress(sequences_of_each(), len(questions.examples), title)
    return pa.Table.from_pylist(list(chain.from_iterable(each)), schema=TAUGHT_SPANS)


def distilled_loss(loss: Tensor, scores: Tensor, teacher: Tensor, weight: float) -> Tensor:
    """Mix the loss over right answers with the cross entropy of scores with a teacher's probabilities, both [B, C], or
    [S, 2, P] for the first and the last token of a span, whose two cross entropies are added.

    Both are means over questions or sequences, and the temperature is 1: (1 - weight) x loss + weight x H(teacher,
    softmax(scores)).
    """
    # Padding has the score -inf, and no share in the teacher's probabilities.
    log_probabilities = scores.float().log_softmax(-1).masked_fill(scores.isneginf(), 0.0)
    return (1 - weight) * loss - weight * (teacher * log_probabilities).flatten(1).sum(-1).mean()
