"""Score answers against the gold answers of their questions."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NotRequired, TypedDict

import numpy as np
import pyarrow as pa

from coattend.batches.dataset import QuestionSet
from coattend.evaluation import SpanScorer, span_scorer
from coattend.evaluation.calibration import MASSES, log_probabilities
from coattend.evaluation.no_answer import choose
from coattend.inference.decoding import Answer, OptionAnswer, SpanAnswer, WordAnswer, best_option
from coattend.schemas import PREDICTIONS, QuestionRow


class ScoredAnswer(TypedDict):
    """An answer in a row of the predictions table."""

    prediction: str
    correct: bool
    f1: float
    label: NotRequired[int]
    scores: NotRequired[tuple[float, ...]]
    start: NotRequired[int]
    end: NotRequired[int]
    null_score: NotRequired[float]


def score_answers(
    answers: Iterable[Answer], questions: QuestionSet, *, trial_id: str, seed: int, threshold: float | None
) -> pa.Table:
    """Compare answers with the gold answers of their questions; those without an answer have no row.

    "No answer" is predicted if the null score exceeds the span's score by more than the threshold; None: never.

    Returns:
        A predictions table in the order of the questions. ``start`` and ``end`` are those of the best span, also where
        "no answer" is predicted. ``null_score`` is compared with the threshold: the score of "no answer" less that of
        the best span.
    """
    scorer = span_scorer(questions.scorer, version="v1.1" if questions.all_answerable else "v2.0")
    threshold = math.inf if threshold is None else threshold
    answer_by_id = {answer.example.question_id: answer for answer in answers}
    rows = []
    for question in questions.questions.to_pylist():
        answer = answer_by_id.get(question["question_id"])
        if answer is None:
            continue
        if isinstance(answer, SpanAnswer):
            scored = _score_span(question, answer, questions.texts[question["question_id"]], threshold, scorer)
        else:
            scored = _score_choice(question, answer)
        rows.append({"question_id": question["question_id"], "trial_id": trial_id, "seed": seed, **scored})
    return pa.Table.from_pylist(rows, schema=PREDICTIONS)


def score_choices(
    questions: Iterable[QuestionRow], scores: Mapping[str, tuple[float, ...]], *, trial_id: str, seed: int
) -> pa.Table:
    """Compare the options with the best scores, by question id, with the right ones; as `score_answers` does."""
    rows = [
        {"question_id": name, "trial_id": trial_id, "seed": seed, **_score_option(question, scores[name])}
        for question in questions
        if (name := question["question_id"]) in scores
    ]
    return pa.Table.from_pylist(rows, schema=PREDICTIONS)


def held_out_score(answers: Iterable[Answer], questions: QuestionSet) -> float:
    """Compute the score that chooses checkpoints: accuracy for options, mean F1 for spans; no answer is wrong.

    For spans, "no answer" is predicted if its score is higher, and never if every question has an answer.
    """
    threshold = None if questions.all_answerable else 0.0
    table = score_answers(answers, questions, trial_id="", seed=0, threshold=threshold)
    count: int = questions.questions.num_rows
    return float(pa.compute.sum(table.column("f1")).as_py() or 0.0) / count


def held_out_loss(answers: Iterable[Answer], questions: QuestionSet, head: str) -> float | None:
    """Compute the mean of -log p of the right option or candidate, normalised over these alone.

    As in training, questions without an answer, or whose right candidate was cut off with the passage, do not count.
    Heads for spans, and for words chosen from the whole passage, have no such scores: None.
    """
    columns = (questions.questions.column(name).to_pylist() for name in ("question_id", "label"))
    labels = dict(zip(*columns, strict=True))
    scored = [
        (answer.scores, labels[answer.example.question_id]) for answer in answers if isinstance(answer, OptionAnswer)
    ]
    # Heads that sum masses give a candidate that was not read no mass at all.
    reachable = [
        (scores, label) for scores, label in scored if label is not None and (head not in MASSES or scores[label] > 0)
    ]
    losses = [-log_probabilities(scores, head)[label] for scores, label in reachable]
    return float(np.mean(losses)) if losses else None


def null_threshold(answers: Sequence[Answer], questions: QuestionSet, train: QuestionSet) -> float | None:
    """Choose the threshold of "no answer" with the best F1 on held-out questions.

    Returns:
        None if every training question has an answer, so that one is always given. Zero, where the two scores are
        equal, if only the held-out questions all have answers.
    """
    if train.all_answerable:
        return None
    golds = {row["question_id"]: _gold_texts(row) for row in questions.questions.to_pylist()}
    if all(golds.values()):
        return 0.0
    spans = [answer for answer in answers if isinstance(answer, SpanAnswer)]
    scorer, span_f1, null_f1 = span_scorer(questions.scorer), [], []
    for answer in spans:
        question_id = answer.example.question_id
        text = questions.texts[question_id][answer.start : answer.end]
        span_f1.append(scorer.best(text, golds[question_id])[1])
        null_f1.append(0.0 if golds[question_id] else 1.0)
    return choose(np.array([answer.null_margin for answer in spans]), span_f1, null_f1).value


def _score_choice(question: QuestionRow, answer: OptionAnswer | WordAnswer) -> ScoredAnswer:
    """Score a chosen option, candidate or word; a tie for a word is wrong."""
    options, label = question["options"] or [], question["label"]
    if isinstance(answer, OptionAnswer):
        return _score_option(question, answer.scores)
    correct = label is not None and answer.word == options[label] and not answer.tied
    return {"prediction": answer.word, "correct": correct, "f1": float(correct)}


def _score_option(question: QuestionRow, scores: tuple[float, ...]) -> ScoredAnswer:
    options, choice = question["options"] or [], best_option(scores)
    correct = choice == question["label"] and not (question["task"] == "word" and _is_tied(options, scores, choice))
    return {
        "prediction": options[choice],
        "label": choice,
        "scores": scores,
        "correct": correct,
        "f1": float(correct),
    }


def _is_tied(options: Sequence[str], scores: Sequence[float], best: int) -> bool:
    """Return True if another word scores as high as the chosen one: cloze accuracy counts a tie as wrong."""
    pairs = zip(options, scores, strict=True)
    return any(score >= scores[best] for word, score in pairs if word != options[best])


def _score_span(
    question: QuestionRow, answer: SpanAnswer, passage: str, threshold: float, scorer: SpanScorer
) -> ScoredAnswer:
    text = passage[answer.start : answer.end] if answer.null_margin <= threshold else ""
    exact, f1 = scorer.best(text, _gold_texts(question))
    return {
        "prediction": text,
        "scores": answer.probabilities,
        "start": answer.start,
        "end": answer.end,
        "null_score": answer.null_margin,
        "correct": exact == 1,
        "f1": f1,
    }


def _gold_texts(question: QuestionRow) -> list[str]:
    return [answer["text"] for answer in question["answers"] or ()]
