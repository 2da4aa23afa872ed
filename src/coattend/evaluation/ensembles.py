"""Trials of one reader that answer together."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from coattend.evaluation import squad
from coattend.evaluation.alignment import Answers, Layout
from coattend.evaluation.calibration import probabilities

SHARE = 0.7
"""The best share of trials, by held-out score, as the AS Reader's average takes it."""

Joint = Callable[[Sequence[int]], tuple[np.ndarray, np.ndarray]]
"""The marks that some trials, by their places, have together: right or wrong [questions], and F1 [questions]."""


@dataclass(frozen=True)
class Ensemble:
    """Trials, by their places, that answer together: right or wrong [questions], and F1 from 0 to 1 [questions]."""

    method: str  # ``average`` of all, ``best share``, or ``greedy``.
    trials: tuple[int, ...]
    correct: np.ndarray
    f1: np.ndarray


def ensembles(joint: Joint, held_out: Sequence[float], chosen_on: np.ndarray | None) -> list[Ensemble]:
    """All trials together, the best share of them where that leaves one out, and those that a greedy search keeps.

    The search goes through the trials from the best to the worst and keeps each with which the others score higher.
    It is judged by questions (``chosen_on``, bool [questions]; None: there is no search) that it is then scored on, so
    its gain there is too good. Each trial has a score on questions held out of training [trials].
    """
    # The best trial comes first, where the best share and the greedy search begin.
    ranked = sorted(range(len(held_out)), key=lambda trial: -held_out[trial])
    groups = {"average": ranked}
    share = math.ceil(SHARE * len(ranked))
    if share < len(ranked):
        groups["best share"] = ranked[:share]
    if chosen_on is not None:
        # The sum of F1 over the same questions ranks ensembles as its mean does.
        groups["greedy"] = _greedy(ranked, lambda members: float(joint(members)[1][chosen_on].sum()))
    return [Ensemble(method, tuple(members), *joint(members)) for method, members in groups.items()]


def by_probability(probabilities: np.ndarray, gold: np.ndarray, *, first_of_ties: bool = False) -> Joint:
    """Options and words: the one with the highest mean probability [trials, questions, N].

    Of options that tie, the first is chosen, as by each trial (``first_of_ties``); a tie of words is wrong.
    """

    def together(members: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        mean = probabilities[list(members)].mean(0)
        best = mean.max(-1, keepdims=True)
        # A question that no member answered has no best option.
        chosen = (best[:, 0] > 0) & (first_of_ties | ((mean == best).sum(-1) == 1))
        right = ((mean.argmax(-1) == gold) & chosen).astype(float)
        return right, right

    return together


def by_vote(
    predictions: Sequence[Sequence[str | None]], answers: Answers, *, alike: Callable[[str], str] = squad.normalise
) -> Joint:
    """Texts [trials, questions], None without an answer: the one that most give; among equals the best trial's."""
    normalised = [[None if text is None else alike(text) for text in texts] for texts in predictions]

    def together(members: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        chosen = []
        for question in range(answers.f1.shape[1]):
            texts = [normalised[trial][question] for trial in members]
            # Members run from best to worst, so `argmax` gives a tie to the better trial; a missing answer has no vote.
            votes = [-1 if text is None else texts.count(text) for text in texts]
            chosen.append(members[int(np.argmax(votes))])
        positions = np.array(chosen), np.arange(answers.f1.shape[1])
        return answers.correct[positions], answers.f1[positions]

    return together


def of_options(predictions: pa.Table, question_ids: pa.ChunkedArray, trials: Sequence[str], head: str) -> np.ndarray:
    """The probability of each option [trials, questions, N]; 0 for options that there are not or without an answer."""
    scores = predictions["scores"].to_pylist()
    # As wide as the question with the most options.
    padded = np.zeros((len(scores), max((len(options) for options in scores), default=1)))
    for row, options in enumerate(scores):
        padded[row, : len(options)] = probabilities(options, head)
    return Layout(predictions, question_ids, trials).matrix(padded, 0.0)


def _greedy(ranked: Sequence[int], score: Callable[[Sequence[int]], float]) -> list[int]:
    members = [ranked[0]]
    best = score(members)
    for trial in ranked[1:]:
        candidate_score = score([*members, trial])
        if candidate_score > best:
            members, best = [*members, trial], candidate_score
    return members
