"""Thresholds for predicting "no answer", and the best score that any threshold reaches."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypedDict

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike

from coattend.evaluation import span_scorer
from coattend.evaluation.groups import scored_questions


@dataclass(frozen=True)
class NullThreshold:
    """Answer a question with its best span unless its null score is above ``value``."""

    value: float  # Finite, and below all null scores where answering none is best.
    score: float  # Mean at that threshold, on the questions that it was chosen on.


def choose(null_scores: ArrayLike, answered: ArrayLike, unanswered: ArrayLike) -> NullThreshold:
    """Find the threshold with the best mean score, as SQuAD 2.0's official script does.

    Questions are sorted by null score. From the threshold that answers none of them, one after the other gets its
    answer; a threshold is kept if its score is strictly better. Questions with the same null score get their answers
    together, since no threshold lies between them (the script takes them one by one there).

    Exact match and F1 have thresholds of their own: call this once for each. On the scored questions themselves the
    score is an upper bound and no result.

    Args:
        null_scores: How likely "no answer" is, on any scale [questions]; at the threshold itself, answer.
        answered: Score of each question's best span, exact match or F1 [questions].
        unanswered: What "no answer" scores for it: 1 where it has none [questions].

    Raises:
        ValueError: If there is no question.
    """
    if not np.size(null_scores):
        raise ValueError("a threshold needs at least one question")
    order = np.argsort(null_scores, kind="stable")
    ranked = np.asarray(null_scores, dtype=float)[order]
    # The change of the total, against answering none, when the questions up to each rank get their answers.
    gains = np.cumsum(np.subtract(answered, unanswered, dtype=float)[order])
    # A threshold can only follow the last of equal null scores.
    last_of_ties = np.append(ranked[1:] > ranked[:-1], True)
    # The first threshold lies below all null scores and answers nothing.
    values = np.concatenate([[ranked[0] - 1.0], ranked[last_of_ties]])
    scores = (np.sum(unanswered) + np.concatenate([[0.0], gains[last_of_ties]])) / len(ranked)
    # `argmax` takes the first of equal scores: a later threshold must be strictly better.
    winner = int(np.argmax(scores))
    return NullThreshold(float(values[winner]), float(scores[winner]))


def auroc(null_scores: np.ndarray, answerable: np.ndarray) -> float | None:
    """Area under the ROC curve of null scores, on any scale, as a classifier of unanswerable questions.

    It is the share of pairs of an unanswerable and an answerable question that are in the right order, ties half; None
    without a pair.
    """
    with_answer, without = np.sort(null_scores[answerable]), null_scores[~answerable]
    if not len(with_answer) or not len(without):
        return None
    # Both sides together count a lower score twice and a tie once; halved, a tie counts half.
    below = np.searchsorted(with_answer, without, side="left") + np.searchsorted(with_answer, without, side="right")
    return float(below.sum() / 2 / len(without) / len(with_answer))


PREDICTION_COLUMNS = ["question_id", "trial_id", "start", "end", "null_score"]
QUESTION_COLUMNS = ["question_id", "passage_id", "split", "task", "answers", "answerable"]


class OracleScores(TypedDict):
    """Exact match and F1 at thresholds that are tuned on the scored questions, in percent."""

    oracle_exact: float
    oracle_f1: float


def best_with_hindsight(
    predictions: pa.Table, questions: pa.Table, passages: Mapping[str, str], *, scorer: str = "squad"
) -> dict[str, OracleScores]:
    """Exact match and F1 at thresholds that are tuned on the scored questions, each apart, as SQuAD 2.0 does.

    Means over trials by split. A split whose questions have answers all is left out: there is nothing to tune.
    """
    labelled, _ = scored_questions(questions, "span")
    score_span = span_scorer(scorer).best
    question_of = {row["question_id"]: row for row in labelled.to_pylist()}
    unanswerable = {row["split"] for row in question_of.values() if not row["answerable"]}
    # By trial and split, for each question: null score, exact match and F1 of the span, and the mark of "no answer".
    marks: dict[str, dict[str, list[tuple[float, float, float, float]]]] = {}
    for row in predictions.to_pylist():
        marks_of_trial = marks.setdefault(row["trial_id"], {})
        question = question_of.get(row["question_id"])
        if question is None or question["split"] not in unanswerable:
            continue
        golds = [answer["text"] for answer in question["answers"]]
        # The span itself is scored, also where the stored prediction is "no answer".
        text = passages[question["passage_id"]][row["start"] : row["end"]]
        exact_f1 = score_span(text, golds)
        question_marks = (row["null_score"], *exact_f1, float(not question["answerable"]))
        marks_of_trial.setdefault(question["split"], []).append(question_marks)
    oracle: dict[str, OracleScores] = {}
    for split in sorted(unanswerable):
        columns = [tuple(zip(*by_split[split], strict=True)) for by_split in marks.values() if split in by_split]
        if columns:
            # Questions without a prediction are wrong at every threshold.
            asked = sum(row["split"] == split for row in question_of.values())
            exact = [
                choose(null_scores, exact, unanswered).score * len(exact) / asked
                for null_scores, exact, _, unanswered in columns
            ]
            f1 = [
                choose(null_scores, f1, unanswered).score * len(f1) / asked
                for null_scores, _, f1, unanswered in columns
            ]
            oracle[split] = {"oracle_exact": 100 * float(np.mean(exact)), "oracle_f1": 100 * float(np.mean(f1))}
    return oracle
