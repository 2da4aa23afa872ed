"""Marks answers: right or wrong, and how much of the answer was found."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from coattend.evaluation import squad
from coattend.evaluation.probabilities import MASSES, log_probabilities
from coattend.evaluation.thresholds import best_threshold
from coattend.tables import PREDICTIONS
from coattend.training.answers import Answer
from coattend.training.data import QuestionSet


def mark(
    answers: Iterable[Answer], asked: QuestionSet, *, trial_id: str, seed: int, threshold: float | None
) -> pa.Table:
    """Compare answers with the gold answers.

    Args:
        answers: A reader's answers.
        asked: The questions; those without an answer have no row.
        trial_id: The trial that answered.
        seed: Its seed.
        threshold: A span is given unless the null score exceeds its score by more than this; None: a span always.

    Returns:
        A predictions table in the order of the questions. ``start`` and ``end`` are the best span's, also where "no
        answer" is predicted; ``null_score`` is what the threshold is compared with: the score of "no answer" less that
        of the best span.
    """
    version = "v1.1" if all(asked.questions.column("answerable").to_pylist()) else "v2.0"
    threshold = math.inf if threshold is None else threshold
    by_id = {answer.example.question_id: answer for answer in answers}
    rows = []
    for question in asked.questions.to_pylist():
        answer = by_id.get(question["question_id"])
        if answer is None:
            continue
        if answer.word is not None:
            row = _mark_word(question, answer)
        elif question["task"] != "span":
            row = _mark_option(question, answer)
        else:
            row = _mark_span(question, answer, asked.texts[question["question_id"]], threshold, version)
        rows.append({"question_id": question["question_id"], "trial_id": trial_id, "seed": seed} | row)
    return pa.Table.from_pylist(rows, schema=PREDICTIONS)


def held_out_score(answers: Iterable[Answer], asked: QuestionSet) -> float:
    """What a checkpoint is chosen by: accuracy for options, mean F1 for spans; no answer is wrong.

    For spans "no answer" is taken where it has the higher score, and never where every question has an answer.
    """
    always = all(asked.questions.column("answerable").to_pylist())
    table = mark(answers, asked, trial_id="", seed=0, threshold=None if always else 0.0)
    return float(pa.compute.sum(table.column("f1")).as_py() or 0.0) / asked.questions.num_rows


def held_out_loss(answers: Iterable[Answer], asked: QuestionSet, head: str) -> float | None:
    """The mean of -log p of the right option or candidate, among these alone, as printed tables have it by step.

    A question that has no answer, or whose right candidate is not in the passage as far as it is read, has no part in
    it, as in training.

    Args:
        answers: A reader's answers.
        asked: The questions.
        head: What gave the scores.

    Returns:
        None where answers have no such scores: for spans, and for words that are chosen from the whole passage.
    """
    labels = dict(zip(*(asked.questions.column(name).to_pylist() for name in ("question_id", "label")), strict=True))
    scored = [(one.scores, labels[one.example.question_id]) for one in answers if one.scores is not None]
    held = [(scores, label) for scores, label in scored if head not in MASSES or scores[label] > 0]
    losses = [-log_probabilities(scores, head)[label] for scores, label in held]
    return float(np.mean(losses)) if losses else None


def null_threshold(answers: Sequence[Answer], asked: QuestionSet, train: QuestionSet) -> float | None:
    """The threshold with the best F1 on questions that were held out.

    Args:
        answers: A reader's answers to them.
        asked: The questions that were held out.
        train: The questions that it was trained on.

    Returns:
        None where every training question has an answer: then one is always given. Zero, where the two scores are
        equal, if only the questions held out have answers all.
    """
    if all(train.questions.column("answerable").to_pylist()):
        return None
    golds = {row["question_id"]: _golds(row) for row in asked.questions.to_pylist()}
    if all(golds.values()):
        return 0.0
    margins = np.array([answer.null_score - answer.span_score for answer in answers])
    texts = [asked.texts[answer.example.question_id][answer.start : answer.end] for answer in answers]
    found = [
        squad.best(text, golds[answer.example.question_id], version="v2.0")[1]
        for answer, text in zip(answers, texts, strict=True)
    ]
    nothing = [0.0 if golds[answer.example.question_id] else 1.0 for answer in answers]
    return best_threshold(margins, found, nothing)


def _mark_option(question: dict[str, Any], answer: Answer) -> dict[str, Any]:
    correct = answer.choice == question["label"]
    if question["task"] == "word":
        correct = correct and not _tied(question, answer)
    return {
        "prediction": question["options"][answer.choice],
        "label": answer.choice,
        "scores": answer.scores,
        "correct": correct,
        "f1": float(correct),
    }


def _mark_word(question: dict[str, Any], answer: Answer) -> dict[str, Any]:
    correct = answer.word == question["options"][question["label"]] and not answer.tied
    return {"prediction": answer.word, "correct": correct, "f1": float(correct)}


def _tied(question: dict[str, Any], answer: Answer) -> bool:
    """Whether another word has as good a score as the right one: cloze accuracy counts a tie as wrong."""
    right = question["options"][question["label"]]
    pairs = zip(question["options"], answer.scores, strict=True)
    return any(score >= answer.scores[question["label"]] for word, score in pairs if word != right)


def _mark_span(
    question: dict[str, Any], answer: Answer, passage: str, threshold: float, version: squad.Version
) -> dict[str, Any]:
    given = answer.null_score - answer.span_score <= threshold
    text = passage[answer.start : answer.end] if given else ""
    exact, f1 = squad.best(text, _golds(question), version=version)
    return {
        "prediction": text,
        "scores": answer.probabilities,
        "start": answer.start,
        "end": answer.end,
        "null_score": answer.null_score - answer.span_score,
        "correct": exact == 1,
        "f1": f1,
    }


def _golds(question: dict[str, Any]) -> list[str]:
    return [answer["text"] for answer in question["answers"] or ()]
