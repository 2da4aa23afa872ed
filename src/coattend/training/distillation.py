"""Distillation: a reader learns from another one's scores of options, beside the right answers.

A joint reader, whose passage has seen the question, can teach one whose passage is read once. DeFormer (Cao et al.,
2020) adds a loss over hidden states to this one over answers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from coattend.batches.collator import CachedFeatures
from coattend.batches.dataset import QuestionSet
from coattend.batches.examples import Example
from coattend.errors import CoattendError
from coattend.inference.predict import predict, predictions_file
from coattend.training.distributed import broadcast_from_main
from coattend.trials import run_spec
from coattend.trials.build import check_trained
from coattend.trials.experiment import Experiment

TEACHER = "teacher"
"""Key of the teacher's probabilities of options [B, C], 0 at padding, beside the tensors of a batch."""

WHERE = "training.distillation"


def with_teacher(
    experiment: Experiment, seed: int, questions: QuestionSet, features: CachedFeatures | None, store: Path
) -> CachedFeatures | None:
    """Return what adds a teacher's probabilities to batches, beside cached features; these alone without a teacher.

    The teacher reads each training question once, as the learning reader is given it, however many it teaches.

    Raises:
        CoattendError: If the task has no options, or the teacher is gone or reads other texts.
    """
    distillation = experiment.distillation(seed)
    if distillation is None:
        return features
    probabilities = broadcast_from_main(lambda: _ask(experiment, distillation.teacher, questions, store))

    def add(examples: Sequence[Example], arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        rows = [probabilities[example.question_id] for example in examples]
        padded = np.zeros((len(rows), max(map(len, rows))), np.float32)
        for number, row in enumerate(rows):
            padded[number, : len(row)] = row
        return (features(examples, arrays) if features is not None else {}) | {TEACHER: padded}

    return add


def _ask(experiment: Experiment, trial: str, questions: QuestionSet, store: Path) -> dict[str, np.ndarray]:
    """Return a teacher's probabilities of each question's options."""
    if experiment.task != "options":
        problem = f"teaches the scores of options, and {experiment.name} answers with a {experiment.task}"
        raise CoattendError(problem, where=WHERE, cure="Set it to null")
    outcome = check_trained(store, trial, where=f"{WHERE}.teacher")
    if outcome is None:
        problem = f"the trial {trial!r} is not finished"
        raise CoattendError(problem, where=f"{WHERE}.teacher", cure="Run its training pipeline again")
    spec, tokens = run_spec.read(store / trial), experiment.source.tokens
    if spec.language_model is not None or (spec.task, spec.tokenizer, spec.tagger) != (
        experiment.task,
        tokens.tokenizer,
        tokens.tagger,
    ):
        problem = f"the trial {trial!r} answers another task, or was not trained on texts with these tokens and tags"
        raise CoattendError(problem, where=f"{WHERE}.teacher", cure="Name a trial with the same tokenizer and tagging")
    teacher = f"{experiment.name}'s teacher"
    asked = replace(experiment, name=teacher, reader=spec.reader, head=spec.head, options=spec.options)
    # Its answers wait beside its weights for the next reader that it teaches the same questions.
    answers = predict(asked, outcome, questions, store, f"teaching-{predictions_file(asked, questions)}")
    ids, scores = answers["question_id"].to_pylist(), answers["scores"].to_pylist()
    return {name: torch.tensor(row).softmax(0).numpy() for name, row in zip(ids, scores, strict=True)}


def distilled_loss(loss: Tensor, scores: Tensor, teacher: Tensor, weight: float) -> Tensor:
    """Mix the loss over right answers with the cross entropy of scores [B, C] with a teacher's probabilities [B, C].

    Both are means over questions, and the temperature is 1: (1 - weight) x loss + weight x H(teacher, softmax(scores)).
    """
    # Padding has the score -inf, and no share in the teacher's probabilities.
    log_probabilities = scores.float().log_softmax(-1).masked_fill(scores.isneginf(), 0.0)
    return (1 - weight) * loss - weight * (teacher * log_probabilities).sum(-1).mean()
