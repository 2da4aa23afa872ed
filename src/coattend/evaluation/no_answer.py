"""Thresholds for predicting "no answer", and the best score that any threshold reaches."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import ArrayLike

from coattend.evaluation import squad

ChosenOn = Literal["held_out", "oracle"]


@dataclass(frozen=True)
class NullThreshold:
    """Answer a question with its best span unless its null score is above ``value``.

    Attributes:
        value: The threshold; finite, and below all null scores where answering none is best.
        score: Mean score at that threshold, on the questions that it was chosen on.
        chosen_on: ``held_out``: questions that are not scored with it. ``oracle``: the scored ones themselves, so that
            ``score`` is an upper bound and no result.
    """

    value: float
    score: float
    chosen_on: ChosenOn


def choose(null_scores: ArrayLike, answered: ArrayLike, unanswered: ArrayLike, *, chosen_on: ChosenOn) -> NullThreshold:
    """Find the threshold with the best mean score, as SQuAD 2.0's official script does.

    Questions are sorted by null score. From the threshold that answers none of them, one after the other gets its
    answer; a threshold is kept if its score is strictly better. Questions with the same null score get their answers
    together, since no threshold lies between them (the script takes them one by one there).

    Exact match and F1 have thresholds of their own: call this once for each.

    Args:
        null_scores: How likely "no answer" is, on any scale [questions].
        answered: Score of each question's best span, exact match or F1 [questions].
        unanswered: What "no answer" scores for it: 1 where it has none [questions].
        chosen_on: Where these questions come from.

    Returns:
        The threshold.

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
    return NullThreshold(float(values[winner]), float(scores[winner]), chosen_on)


def best_threshold(null_scores: ArrayLike, answered: ArrayLike, unanswered: ArrayLike) -> float:
    """The value of the threshold that `choose` finds on held-out questions; at the threshold itself, answer.

    Args:
        null_scores: How likely "no answer" is, on any scale [questions].
        answered: Score of each question's best span [questions].
        unanswered: What "no answer" scores for it [questions].
    """
    return choose(null_scores, answered, unanswered, chosen_on="held_out").value


def auroc(null_scores: np.ndarray, answerable: np.ndarray) -> float | None:
    """Area under the ROC curve of null scores as a classifier of unanswerable questions.

    Args:
        null_scores: How likely "no answer" is, on any scale [questions].
        answerable: Whether each has an answer [questions], bool.

    Returns:
        The share of pairs of an unanswerable and an answerable question that are in the right order, ties half; None
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


def best_with_hindsight(
    predictions: pa.Table, questions: pa.Table, passages: Mapping[str, str]
) -> dict[str, dict[str, float]]:
    """Exact match and F1 at thresholds that are tuned on the scored questions, each apart, as SQuAD 2.0 does.

    Args:
        predictions: The columns `PREDICTION_COLUMNS`.
        questions: The columns `QUESTION_COLUMNS`.
        passages: Passage id to text.

    Returns:
        Split to ``oracle_exact`` and ``oracle_f1`` in percent, means over trials. A split whose questions have answers
        all is left out: there is nothing to tune.
    """
    question_of = {row["question_id"]: row for row in _spans(questions).to_pylist()}
    unanswerable = {row["split"] for row in question_of.values() if not row["answerable"]}
    scores: dict[str, list[dict[str, float]]] = {}
    for trial in pc.unique(predictions["trial_id"]).to_pylist():
        rows = predictions.filter(pc.equal(predictions["trial_id"], trial)).to_pylist()
        for split in sorted(unanswerable):
            rows_of_split = [row for row in rows if question_of.get(row["question_id"], {}).get("split") == split]
            if rows_of_split:
                scores.setdefault(split, []).append(_best(rows_of_split, question_of, passages))
    return {
        split: {name: 100 * float(np.mean([trial[name] for trial in by_trial])) for name in by_trial[0]}
        for split, by_trial in scores.items()
    }


def _spans(questions: pa.Table) -> pa.Table:
    scored = pc.not_equal(questions["split"].cast(pa.string()), "train")
    return questions.filter(pc.and_(scored, pc.equal(questions["task"].cast(pa.string()), "span")))


def _best(rows: list[dict[str, Any]], question_of: dict[str, Any], passages: Mapping[str, str]) -> dict[str, float]:
    marks, null_marks = [], []
    for row in rows:
        question = question_of[row["question_id"]]
        golds = [answer["text"] for answer in question["answers"]]
        # The span itself is scored, also where the stored prediction is "no answer".
        text = passages[question["passage_id"]][row["start"] : row["end"]]
        marks.append(squad.best(text, golds, version="v2.0"))
        null_marks.append(float(not question["answerable"]))
    margins = [row["null_score"] for row in rows]
    exact, overlap = zip(*marks, strict=True)
    return {
        "oracle_exact": choose(margins, exact, null_marks, chosen_on="oracle").score,
        "oracle_f1": choose(margins, overlap, null_marks, chosen_on="oracle").score,
    }
