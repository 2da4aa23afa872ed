"""Agreement of attention with occlusion: rank correlations over the words of a passage."""

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import spearmanr

from coattend.inference.attention_records import AttentionReading, LevelAgreement

MIN_WORDS = 3
"""Fewer words than this have no rank correlation."""


def word_values(values: ArrayLike, words: ArrayLike, *, count: int, reduction: Literal["sum", "mean"]) -> np.ndarray:
    """Aggregate values of tokens to values of words [count]; NaN for words without a token.

    Args:
        values: Value of each token [tokens].
        words: Index of each token's word [tokens]; -1 for none.
        count: Number of words.
        reduction: ``sum`` for shares, ``mean`` for scores.
    """
    values, words = np.asarray(values, np.float64), np.asarray(words)
    in_word = words >= 0
    token_counts = np.bincount(words[in_word], minlength=count)
    sums = np.bincount(words[in_word], weights=values[in_word], minlength=count)
    with np.errstate(invalid="ignore"):
        return np.where(token_counts > 0, sums / (token_counts if reduction == "mean" else 1), np.nan)


def rank_correlation(attention: ArrayLike, drops: ArrayLike) -> float | None:
    """Compute Spearman's rank correlation of attention and occlusion over words, from -1 to 1.

    Words with NaN in either do not count. Fewer than three words, or a constant, have no correlation.
    """
    pairs = np.column_stack([np.asarray(attention, np.float64), np.asarray(drops, np.float64)])
    pairs = pairs[np.isfinite(pairs).all(1)]
    if len(pairs) < MIN_WORDS or (pairs == pairs[0]).all(0).any():
        return None
    return float(spearmanr(pairs[:, 0], pairs[:, 1]).statistic)


def mean_correlation(correlations: Sequence[float | None]) -> LevelAgreement:
    """Average the correlations that are defined, and count them."""
    defined = [correlation for correlation in correlations if correlation is not None]
    return {"mean": math.fsum(defined) / len(defined) if defined else None, "questions": len(defined)}


def mean_agreement(readings: Sequence[AttentionReading]) -> dict[str, list[LevelAgreement]]:
    """Average the agreement of each map over questions, by turn or head."""
    by_map: dict[str, list[list[float | None]]] = {}
    for reading in readings:
        for name, levels in reading["agreement"].items():
            by_map.setdefault(name, []).append(levels)
    return {name: [mean_correlation(level) for level in zip(*rows, strict=True)] for name, rows in by_map.items()}
