"""Metrics, intervals, significance tests and error analysis over predictions tables; numpy and pyarrow only."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from coattend.evaluation import cmrc, squad

__all__ = ["SpanScorer", "cmrc", "span_scorer", "squad"]


class SpanScorer(NamedTuple):
    """The rules of a benchmark by which a span's text is compared with gold answers.

    Attributes:
        best: Takes a prediction and the gold answers, returns exact match (0 or 1) and F1, each the best.
        normalise: Returns the text that answers share which are equal.
    """

    best: Callable[[str, Sequence[str]], tuple[float, float]]
    normalise: Callable[[str], str]


def span_scorer(name: str, *, version: squad.Version = "v2.0") -> SpanScorer:
    """Return the scorer that a benchmark's file names, ``squad`` or ``cmrc``; the version is SQuAD's."""
    if name == "cmrc":
        return SpanScorer(cmrc.best, cmrc.normalise)
    return SpanScorer(partial(squad.best, version=version), squad.normalise)
