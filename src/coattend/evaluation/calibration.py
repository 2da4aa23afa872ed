"""Confidence of answers: probabilities from scores, calibration in bins, and risk against coverage, for each split."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypedDict

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import ArrayLike

from coattend.evaluation.groups import members, scored_questions
from coattend.evaluation.records import Calibration, ReliabilityBin, RiskCurve, Score

MASSES = frozenset({"word"})
"""Heads whose scores are masses of probability, the rest of which other words have; others give logits."""

# The smallest normal number of float32 keeps the logarithm finite where a mass is 0.
_TINY = float(np.finfo(np.float32).tiny)


def probabilities(scores: ArrayLike, head: str) -> np.ndarray:
    """The probability of each of a question's options or candidates, among these alone [N].

    Args:
        scores: What a trial gave them [N].
        head: What gave the scores: masses are divided by their sum, of logits the softmax is taken.
    """
    shares: np.ndarray = np.exp(log_probabilities(scores, head))
    return shares


def log_probabilities(scores: ArrayLike, head: str, *, least: float = _TINY) -> np.ndarray:
    """The logarithms of `probabilities` [N].

    Args:
        scores: What a trial gave them [N].
        head: What gave the scores.
        least: What a mass is taken to be at least; 0 has no logarithm.
    """
    values = np.asarray(scores, dtype=float)
    # Logarithms of masses act as logits: their softmax divides each mass by the sum.
    logits = np.log(np.maximum(values, least)) if head in MASSES else values
    logarithms: np.ndarray = logits - np.logaddexp.reduce(logits)
    return logarithms


BINS = 10
"""Bins hold equally many questions, the least sure first: each a tenth of them, so that none stands on a handful."""


@dataclass(frozen=True)
class Reliability:
    """Bins of questions in the order of confidence, the least sure first.

    Attributes:
        questions: How many each holds [bins].
        confidence: Their mean confidence [bins].
        accuracy: The share of them that is right [bins].
    """

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

    Args:
        confidence: Probability of each chosen answer [questions].
        correct: 1 where it is right, 0 where it is wrong [questions].
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

    The error is a mean of absolute values, so it never comes out at zero. In each bin the difference is taken to be
    normal.

    Args:
        confidence: Probability of each chosen answer [questions].
    """
    ranked = np.sort(confidence)
    # If confidence is right, the right answers of a bin are a sum of Bernoulli trials with this variance.
    variances = [(part * (1 - part)).sum() for part in np.array_split(ranked, min(BINS, len(ranked)))]
    # The mean absolute value of a centred normal is sqrt(2 / pi) times its standard deviation.
    return float(np.sqrt(2 / np.pi * np.array(variances)).sum() / len(ranked))


def risks(confidence: np.ndarray, correct: np.ndarray) -> np.ndarray:
    """The share of wrong answers among the k surest, for every k [questions]; equally sure ones come as one.

    Args:
        confidence: How sure each answer is, on any scale [questions].
        correct: 1 where it is right, 0 where it is wrong [questions].
    """
    wrong = 1 - _shared(confidence, correct)[np.argsort(-confidence, kind="stable")]
    return np.cumsum(wrong) / np.arange(1, len(wrong) + 1)


def at_coverages(risk: np.ndarray, coverages: np.ndarray) -> np.ndarray:
    """The risk where a share of the questions is answered; between two numbers of questions on the line of errors.

    Args:
        risk: What `risks` returned [questions].
        coverages: Shares above 0, up to 1 [coverages].
    """
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
    """Calibration, and risk against coverage, of a reader.

    Its confidence is the probability of what it chose: of options and candidates as
    `coattend.evaluation.calibration` has it from the scores; of a span that of its first token times that of its
    last, and of "no answer" the same of CLS. A span is right where it matches exactly. A question that was not
    answered has no confidence and no part in the calibration; against coverage it comes last, and is wrong.

    Readers that choose from all words of the passage have no part, as they keep no scores.

    Args:
        predictions: The columns `COLUMNS`, of these trials.
        questions: The columns `coattend.evaluation.groups.COLUMNS`.
        task: What is answered.
        head: What gave the scores.
        trials: The finished trials: id to seed.

    Returns:
        Split to ``ece`` (expected calibration error), ``ece_by_chance``, ``confidence`` (its mean), ``aurc`` (mean risk
        over all coverages) and ``aurc_at_best`` (with the same answers in the best order), each in percent with a mean
        and each seed's own; and by seed ``reliability`` (bins) and ``risk_coverage`` (the curve). A split is left out
        unless every trial has scores there.
    """
    labelled, _ = scored_questions(questions, task)
    rows_by_trial = [predictions.filter(pc.equal(predictions["trial_id"], name)) for name in trials]
    confidence_by_trial = [_of_answers(rows) if task == "span" else _of_choices(rows, head) for rows in rows_by_trial]
    calibration_by_split = {}
    for split, in_split in members(labelled["split"]).items():
        names = labelled["question_id"].filter(pa.array(in_split))
        pairs = [
            _aligned(rows, confidences, names)
            for rows, confidences in zip(rows_by_trial, confidence_by_trial, strict=True)
        ]
        # Where one trial has no scores, a mean over seeds would stand for the others only.
        if pairs and not any(np.isnan(confidence).all() for confidence, _ in pairs):
            calibration_by_split[split] = _of_split(dict(zip(map(str, trials.values()), pairs, strict=True)))
    return calibration_by_split


def _of_choices(rows: pa.Table, head: str) -> np.ndarray:
    """The probability of what a trial chose [predictions]; NaN where there are no scores."""
    return np.array([probabilities(row, head).max() if row else np.nan for row in rows["scores"].to_pylist()])


def _of_answers(rows: pa.Table) -> np.ndarray:
    """The probability of the span that a trial answered with, or of "no answer" [predictions]."""
    answers = zip(rows["prediction"].to_pylist(), rows["scores"].to_pylist(), strict=True)
    # A span's scores begin with the probability of the span and that of "no answer".
    return np.array([np.nan if scores is None else scores[0 if text else 1] for text, scores in answers])


def _aligned(rows: pa.Table, confidence: np.ndarray, names: pa.ChunkedArray) -> tuple[np.ndarray, np.ndarray]:
    """Confidence, NaN where there is none, and 1 where right, of each question."""
    # Numpy has NaN for the null positions of questions without a prediction.
    positions = pc.index_in(names, value_set=rows["question_id"]).to_numpy(zero_copy_only=False)
    is_answered = ~np.isnan(positions)
    aligned_confidence, correct = np.full(len(names), np.nan), np.zeros(len(names))
    aligned_confidence[is_answered] = confidence[positions[is_answered].astype(int)]
    correct[is_answered] = rows["correct"].to_numpy()[positions[is_answered].astype(int)]
    return aligned_confidence, correct


def _of_split(by_seed: Mapping[str, tuple[np.ndarray, np.ndarray]]) -> Calibration:
    seeds = {seed: _of_seed(*pair) for seed, pair in by_seed.items()}
    return {
        "ece": _over_seeds({seed: measures["ece"] for seed, measures in seeds.items()}),
        "ece_by_chance": _over_seeds({seed: measures["ece_by_chance"] for seed, measures in seeds.items()}),
        "confidence": _over_seeds({seed: measures["confidence"] for seed, measures in seeds.items()}),
        "aurc": _over_seeds({seed: measures["aurc"] for seed, measures in seeds.items()}),
        "aurc_at_best": _over_seeds({seed: measures["aurc_at_best"] for seed, measures in seeds.items()}),
        "reliability": {seed: measures["reliability"] for seed, measures in seeds.items()},
        "risk_coverage": {seed: measures["risk_coverage"] for seed, measures in seeds.items()},
    }


class _SeedCalibration(TypedDict):
    """Calibration of one seed, in shares."""

    ece: float
    ece_by_chance: float
    confidence: float
    aurc: float
    aurc_at_best: float
    reliability: list[ReliabilityBin]
    risk_coverage: RiskCurve


def _of_seed(confidence: np.ndarray, correct: np.ndarray) -> _SeedCalibration:
    has_confidence = ~np.isnan(confidence)
    bins = reliability(confidence[has_confidence], correct[has_confidence])
    # Unanswered questions rank behind all answers.
    last = np.where(has_confidence, confidence, -np.inf)
    risk = risks(last, correct)
    curve = at_coverages(risk, COVERAGES)
    return {
        "ece": bins.error,
        "ece_by_chance": error_by_chance(confidence[has_confidence]),
        "confidence": float(confidence[has_confidence].mean()),
        "aurc": float(risk.mean()),
        # Ranked by their own correctness, the answers are in the best possible order.
        "aurc_at_best": float(risks(correct, correct).mean()),
        "reliability": [
            {"questions": int(count), "confidence": _percent(sure), "accuracy": _percent(right)}
            for count, sure, right in zip(bins.questions, bins.confidence, bins.accuracy, strict=True)
        ],
        "risk_coverage": {"coverage": [_percent(c) for c in COVERAGES], "risk": [_percent(share) for share in curve]},
    }


def _percent(share: float) -> float:
    return round(100 * float(share), 4)


def _over_seeds(shares: Mapping[str, float]) -> Score:
    """A metric in percent, as those of `coattend.evaluation.summary`; a bootstrap would only make these greater."""
    values = {seed: 100 * share for seed, share in shares.items()}
    numbers = list(values.values())
    spread = float(np.std(numbers, ddof=1)) if len(numbers) > 1 else None
    return {"mean": float(np.mean(numbers)), "low": None, "high": None, "spread": spread, "seeds": values}
