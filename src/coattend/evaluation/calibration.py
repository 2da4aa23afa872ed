"""Confidence of answers: probabilities from scores, calibration in bins, and risk against coverage, for each split."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, cast

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike

from coattend.evaluation.alignment import Layout
from coattend.evaluation.groups import members, scored_questions
from coattend.evaluation.records import Calibration, ReliabilityBin, RiskCurve, Score

MASSES = frozenset({"word"})
"""Heads whose scores are masses of probability, the rest of which other words have; others give logits."""

# The smallest normal number of float32 keeps the logarithm finite where a mass is 0.
_TINY = float(np.finfo(np.float32).tiny)


def probabilities(scores: ArrayLike, head: str) -> np.ndarray:
    """The probability of each of a question's options or candidates, among these alone [N].

    The head that gave the scores decides: masses are divided by their sum, of logits the softmax is taken.
    """
    shares: np.ndarray = np.exp(log_probabilities(scores, head))
    return shares


def log_probabilities(scores: ArrayLike, head: str, *, least: float = _TINY) -> np.ndarray:
    """The logarithms of `probabilities` [N]; a mass is taken to be ``least`` at least, as 0 has no logarithm."""
    values = np.asarray(scores, dtype=float)
    # Logarithms of masses act as logits: their softmax divides each mass by the sum.
    logits = np.log(np.maximum(values, least)) if head in MASSES else values
    logarithms: np.ndarray = logits - np.logaddexp.reduce(logits)
    return logarithms


BINS = 10
"""Bins hold equally many questions, the least sure first: each a tenth of them, so that none stands on a handful."""


@dataclass(frozen=True)
class Reliability:
    """Bins of questions in the order of confidence, the least sure first: means and numbers of questions [bins]."""

    questions: np.ndarray
    confidence: np.ndarray
    accuracy: np.ndarray

    @property
    def error(self) -> float:
        """Expected calibration error: how far confidence and accuracy of a bin are apart, on average of questions."""
        return float(np.average(np.abs(self.confidence - self.accuracy), weights=self.questions))


def reliability(confidence: np.ndarray, correct: np.ndarray) -> Reliability:
    """Compare confidence with accuracy in `BINS` bins of equal mass, or in as many as there are questions.

    Where their number is not a multiple of the bins', the first bins hold one more. Equally sure answers share their
    accuracy, so that the order of the questions plays no part.
    """
    order = np.argsort(confidence, kind="stable")
    parts = np.array_split(order, min(BINS, len(order)))
    shared = _shared(confidence, correct)
    return Reliability(
        np.array([len(part) for part in parts]),
        np.array([confidence[part].mean() for part in parts]),
        np.array([shared[part].mean() for part in parts]),
    )


def error_by_chance(confidence: np.ndarray) -> float:
    """About the calibration error that a reader has on so many questions if its confidence is right.

    A mean of absolute values, it never comes out at zero. In each bin the difference is taken to be normal.
    """
    ranked = np.sort(confidence)
    # If confidence is right, the right answers of a bin are a sum of Bernoulli trials with this variance.
    variances = [(part * (1 - part)).sum() for part in np.array_split(ranked, min(BINS, len(ranked)))]
    # The mean absolute value of a centred normal is sqrt(2 / pi) times its standard deviation.
    return float(np.sqrt(2 / np.pi * np.array(variances)).sum() / len(ranked))


def risks(confidence: np.ndarray, correct: np.ndarray) -> np.ndarray:
    """The share of wrong answers among the k surest, for every k [questions]; equally sure ones come as one."""
    wrong = 1 - _shared(confidence, correct)[np.argsort(-confidence, kind="stable")]
    return np.cumsum(wrong) / np.arange(1, len(wrong) + 1)


def at_coverages(risk: np.ndarray, coverages: np.ndarray) -> np.ndarray:
    """The risk where a share of the questions, above 0 and up to 1, is answered [coverages]; see `risks`."""
    # Between two numbers of answers the errors grow on a line: interpolate them, then divide again.
    counts = np.arange(len(risk) + 1)
    errors = np.concatenate([[0.0], risk * counts[1:]])
    answered = coverages * len(risk)
    risks: np.ndarray = np.interp(answered, counts, errors) / answered
    return risks


def _shared(confidence: np.ndarray, correct: np.ndarray) -> np.ndarray:
    """The accuracy of all answers that are as sure as each, which is what it has on average of their orders."""
    # Answers of equal confidence form a group and share its mean.
    _, group = np.unique(confidence, return_inverse=True)
    return (np.bincount(group, correct) / np.bincount(group))[group]


COLUMNS = ["question_id", "trial_id", "prediction", "scores", "correct"]
"""The columns of predictions that are read."""

COVERAGES = np.arange(1, 101) / 100
"""Where the curve of risk against coverage is kept."""


def calibrate(
    predictions: pa.Table, questions: pa.Table, *, task: str, head: str, trials: Mapping[str, int]
) -> dict[str, Calibration]:
    """Calibration, and risk against coverage, of a reader, by split.

    Its confidence is the probability of what it chose: of options and candidates `probabilities` has it from the
    scores; of a span it is that of its first token times that of its last, and of "no answer" the same of CLS. A span
    is right where it matches exactly. A question that was not answered has no confidence and no part in the
    calibration; against coverage it comes last, and is wrong.

    Measures are in percent, with a mean and each seed's own; bins and curves are by seed. A split is left out unless
    every trial (id to seed) has scores there: readers that choose from all words of the passage keep none.

    Raises:
        CoattendError: If predictions and trials do not belong together.
    """
    labelled, _ = scored_questions(questions, task)
    layout = Layout(predictions, labelled["question_id"], list(trials))
    confidence = layout.matrix(_confidence(predictions, task, head), np.nan)
    correct = layout.matrix(predictions["correct"], False).astype(float)
    calibration_by_split = {}
    for split, rows in members(labelled["split"]).items():
        # Where one trial has no scores, a mean over seeds would stand for the others only.
        if trials and not np.isnan(confidence[:, rows]).all(axis=1).any():
            by_trial = zip(trials.values(), confidence[:, rows], correct[:, rows], strict=True)
            calibration_by_split[split] = _of_split(
                {str(seed): _of_seed(trial_confidence, right) for seed, trial_confidence, right in by_trial}
            )
    return calibration_by_split


def _confidence(predictions: pa.Table, task: str, head: str) -> np.ndarray:
    """The probability of what was chosen [predictions]; NaN where there are no scores."""
    rows = predictions.select(["prediction", "scores"]).to_pylist()
    if task != "span":
        return np.array([probabilities(row["scores"], head).max() if row["scores"] else np.nan for row in rows])
    # A span's scores begin with the probability of the span and that of "no answer".
    return np.array([np.nan if row["scores"] is None else row["scores"][0 if row["prediction"] else 1] for row in rows])


class _SeedCalibration(NamedTuple):
    """Calibration of one seed: shares by name, bins, and the risk among the k surest for every k [questions]."""

    shares: dict[str, float]
    bins: Reliability
    risk: np.ndarray


def _of_seed(confidence: np.ndarray, correct: np.ndarray) -> _SeedCalibration:
    has_confidence = ~np.isnan(confidence)
    sure = confidence[has_confidence]
    bins = reliability(sure, correct[has_confidence])
    # Unanswered questions rank behind all answers.
    risk = risks(np.where(has_confidence, confidence, -np.inf), correct)
    shares = {
        "ece": bins.error,
        "ece_by_chance": error_by_chance(sure),
        "confidence": float(sure.mean()),
        "aurc": float(risk.mean()),
        # Ranked by their own correctness, the answers are in the best possible order.
        "aurc_at_best": float(risks(correct, correct).mean()),
    }
    return _SeedCalibration(shares, bins, risk)


def _of_split(by_seed: Mapping[str, _SeedCalibration]) -> Calibration:
    measures: dict[str, Score] = {}
    for name in next(iter(by_seed.values())).shares:
        seeds = {seed: 100 * of_seed.shares[name] for seed, of_seed in by_seed.items()}
        numbers = list(seeds.values())
        spread = float(np.std(numbers, ddof=1)) if len(numbers) > 1 else None
        # A bootstrap would only make these measures greater, so they have no interval.
        measures[name] = {"mean": float(np.mean(numbers)), "low": None, "high": None, "spread": spread, "seeds": seeds}
    return {
        **cast("Calibration", measures),
        "reliability": {seed: _bins(of_seed.bins) for seed, of_seed in by_seed.items()},
        "risk_coverage": {seed: _curve(of_seed.risk) for seed, of_seed in by_seed.items()},
    }


def _bins(bins: Reliability) -> list[ReliabilityBin]:
    return [
        {"questions": int(count), "confidence": _percent(sure), "accuracy": _percent(right)}
        for count, sure, right in zip(bins.questions, bins.confidence, bins.accuracy, strict=True)
    ]


def _curve(risk: np.ndarray) -> RiskCurve:
    shares = at_coverages(risk, COVERAGES)
    return {"coverage": [_percent(share) for share in COVERAGES], "risk": [_percent(share) for share in shares]}


def _percent(share: float) -> float:
    return round(100 * float(share), 4)
