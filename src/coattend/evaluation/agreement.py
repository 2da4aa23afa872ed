"""How well attention agrees with what happens when words are left out."""

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import spearmanr

FEWEST = 3
"""Fewer words than this have no rank correlation."""


def of_words(values: ArrayLike, words: ArrayLike, *, count: int, how: Literal["sum", "mean"]) -> np.ndarray:
    """Numbers of tokens as numbers of words.

    Args:
        values: A number for each token [tokens].
        words: The word that each lies in [tokens]; -1 for none.
        count: How many words there are.
        how: ``sum`` for shares, ``mean`` for scores.

    Returns:
        [count]; NaN for words of which there is no token.
    """
    values, words = np.asarray(values, np.float64), np.asarray(words)
    inside = words >= 0
    tokens = np.bincount(words[inside], minlength=count)
    sums = np.bincount(words[inside], weights=values[inside], minlength=count)
    with np.errstate(invalid="ignore"):
        return np.where(tokens > 0, sums / (tokens if how == "mean" else 1), np.nan)


def rank_correlation(attention: ArrayLike, drops: ArrayLike) -> float | None:
    """Spearman's rank correlation of two numbers of the same words.

    Args:
        attention: How much each word is looked at; NaN where that is not known.
        drops: How much less probable the answer is without it; NaN likewise.

    Returns:
        From -1 to 1; None where fewer than three words have both numbers, or either is the same for all.
    """
    pairs = np.column_stack([np.asarray(attention, np.float64), np.asarray(drops, np.float64)])
    pairs = pairs[np.isfinite(pairs).all(1)]
    if len(pairs) < FEWEST or (pairs == pairs[0]).all(0).any():
        return None
    return float(spearmanr(pairs[:, 0], pairs[:, 1]).statistic)


def mean(correlations: Sequence[float | None]) -> tuple[float | None, int]:
    """The mean over the questions that have a correlation, and how many these are."""
    known = [one for one in correlations if one is not None]
    return (math.fsum(known) / len(known) if known else None), len(known)
