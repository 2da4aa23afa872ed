"""A question's candidates as a reader scored them, with what language models say of the best ones."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from coattend.evaluation.calibration import log_probabilities
from coattend.evaluation.reranking import language_models
from coattend.schemas import PredictionRow, QuestionRow

FEATURES = ("reader", *language_models.NAMES)
"""The reader's log probability of a candidate, and how well it fits."""

LEAST = 1e-6
"""The mass that a candidate is taken to have at least: one that a reader leaves out can be the right one still."""

Fit = Callable[[QuestionRow, Sequence[int]], np.ndarray]
"""Features of some candidates of a question, given by their numbers [candidates, features]."""


@dataclass(frozen=True)
class Ranking:
    """A question's candidates as one trial scored them."""

    question: QuestionRow
    prediction: PredictionRow
    log_scores: np.ndarray  # The reader's log probability of each candidate [candidates].
    best: np.ndarray  # The best candidates, the very best first [n_best].
    features: np.ndarray  # The reader's log probability of these, and how they fit [n_best, features].

    @property
    def right(self) -> int | None:
        """The right one's place among the best; None where it is not among them, or not known."""
        positions = np.flatnonzero(self.best == self.question["label"])
        return int(positions[0]) if len(positions) else None

    def answer(self, weights: np.ndarray) -> PredictionRow:
        """The row of the predictions table with which weights [features] replace that of the reader.

        The candidates that are not among the best stay behind these, in the reader's order. Where another word is as
        good as the right one the answer is wrong, as always in cloze questions.
        """
        ranked = self.features @ weights
        # Shift the reader's scores so far down that the other candidates stay behind the re-ranked ones.
        scores = ranked.min() - 1 + self.log_scores - self.log_scores[self.best].min()
        scores[self.best] = ranked
        # Rounding can make a tie, so that what is stored decides.
        stored = scores.astype(np.float32)
        options, choice = self.question["options"] or [], int(np.argmax(stored))
        others = [score for word, score in zip(options, stored, strict=True) if word != options[choice]]
        correct = choice == self.question["label"] and all(score < stored[choice] for score in others)
        return {
            **self.prediction,
            "prediction": options[choice],
            "label": choice,
            "scores": stored.tolist(),
            "correct": correct,
            "f1": float(correct),
        }


def rankings(
    predictions: Iterable[PredictionRow], questions: Mapping[str, QuestionRow], fit: Fit, *, head: str, n_best: int
) -> list[Ranking]:
    """Rank the candidates of each prediction, trial by trial, and keep the best; ``fit`` is called once a question."""
    by_trial: dict[str, list[PredictionRow]] = {}
    for row in predictions:
        by_trial.setdefault(row["trial_id"], []).append(row)
    scored = []
    for row in chain.from_iterable(by_trial.values()):
        log_scores = log_probabilities(row["scores"] or [], head, least=LEAST)
        scored.append((row, log_scores, np.argsort(-log_scores, kind="stable")[:n_best]))
    # Trials share the fit of a candidate, so each question is asked once about all that any trial ranks high.
    numbers_of: dict[str, set[int]] = {}
    for row, _, best in scored:
        numbers_of.setdefault(row["question_id"], set()).update(best.tolist())
    fit_by_question = {name: _fit_of(fit, questions[name], sorted(numbers)) for name, numbers in numbers_of.items()}
    ranked = []
    for row, log_scores, best in scored:
        features = np.column_stack([log_scores[best], fit_by_question[row["question_id"]][best]])
        ranked.append(Ranking(questions[row["question_id"]], row, log_scores, best, features))
    return ranked


def _fit_of(fit: Fit, question: QuestionRow, numbers: list[int]) -> np.ndarray:
    """Fit of some candidates in the rows of their numbers [options, features]; NaN in the other rows."""
    fitted = fit(question, numbers)
    rows = np.full((len(question["options"] or []), fitted.shape[1]), np.nan)
    rows[numbers] = fitted
    return rows
