"""Which tokens of the passage a reader looked at most."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from coattend.readers.legend import Reading
from coattend.training.looking import SPANS, Sequence

MOST = 10
"""Tokens that are told."""


def evidence(seen: Sequence, legend: Mapping[str, Reading]) -> list[dict[str, Any]]:
    """The tokens that the reader's own attention weighs most, the heaviest first.

    Every map of the passage counts the same: over turns, heads or layers its mean is taken, and of that each token's
    share of what the passage has. Softmaxed logits of spans count only where a reader has no map of its own.

    Args:
        seen: The sequence that the answer is of.
        legend: How its maps are read.

    Returns:
        For each token its text, its place in the passage and its weight; weights of all tokens add up to one.
    """
    maps = {name: values for name, values in seen.maps.items() if legend[name].seen == "passage"}
    own = {name: values for name, values in maps.items() if name not in SPANS} or maps
    real = np.array([token.start is not None for token in seen.passage])
    shares = [share for share in (_share(values, real) for values in own.values()) if share is not None]
    if not shares:
        return []
    weights = np.mean(shares, axis=0)
    order = np.argsort(-weights, kind="stable")[:MOST]
    chosen = [(seen.passage[place], float(weights[place])) for place in order if weights[place] > 0]
    return [{"text": one.text, "start": one.start, "end": one.end, "weight": weight} for one, weight in chosen]


def _share(values: np.ndarray, real: np.ndarray) -> np.ndarray | None:
    """What each token has of a map [levels, P]; special tokens have nothing. None if there is nothing to have."""
    mean = np.where(real, np.clip(values.mean(0, dtype=np.float64), 0, None), 0.0)
    total = mean.sum()
    return mean / total if total > 0 else None
