"""Whether a reader is as often right as it is sure, and whether it is surer where it is right.

Naeini et al. 2015 for the calibration error, El-Yaniv and Wiener 2010 and Geifman et al. 2019 for risk and coverage.
"""

from dataclasses import dataclass

import numpy as np

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
    variances = [(part * (1 - part)).sum() for part in np.array_split(ranked, min(BINS, len(ranked)))]
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
    counts = np.arange(len(risk) + 1)
    errors = np.concatenate([[0.0], risk * counts[1:]])
    answered = coverages * len(risk)
    risks: np.ndarray = np.interp(answered, counts, errors) / answered
    return risks


def _shared(confidence: np.ndarray, correct: np.ndarray) -> np.ndarray:
    """The accuracy of all answers that are as sure as each, which is what it has on average of their orders."""
    _, group = np.unique(confidence, return_inverse=True)
    return (np.bincount(group, correct) / np.bincount(group))[group]
