"""Which tokens of the passage a reader looked at most."""

from typing import Any

import numpy as np

from coattend.readers.reader import Reader
from coattend.training.looking import SPANS, Look
from coattend.training.self_attention import self_attention

MOST = 10
"""Tokens that are told."""


def evidence(reader: Reader, seen: Look, sequence: int) -> list[dict[str, Any]]:
    """The tokens that a reader's attention weighs most, the heaviest first.

    Every map of the passage that its interaction has counts the same: over turns, heads or layers its mean is taken,
    and of that each token's share of what the passage has. Where the interaction has none, as that of ``plain``, it is
    what the question's tokens see of the passage in the encoder's last layer.

    Args:
        reader: The reader.
        seen: What it made of a question.
        sequence: The sequence that the answer is of.

    Returns:
        For each token its text, its place in the passage and its weight; weights of all tokens add up to one.
    """
    tokens, maps = seen.sequences[sequence].passage, seen.sequences[sequence].maps
    real = np.array([token.start is not None for token in tokens])
    own = [values for name, values in maps.items() if seen.legend[name].seen == "passage" and name not in SPANS]
    shares = [
        share for share in (_share(values.mean(0, dtype=np.float64), real) for values in own) if share is not None
    ]
    if not shares:
        layer = self_attention(reader, seen.batch)
        share = None if layer is None else _share(layer[sequence, : len(tokens)].astype(np.float64), real)
        if share is None:
            return []
        shares = [share]
    weights = np.mean(shares, axis=0)
    chosen = [(tokens[place], float(weights[place])) for place in np.argsort(-weights, kind="stable")[:MOST]]
    return [
        {"text": one.text, "start": one.start, "end": one.end, "weight": weight} for one, weight in chosen if weight > 0
    ]


def _share(values: np.ndarray, real: np.ndarray) -> np.ndarray | None:
    """What each token has of a map [P]; special tokens have nothing. None if there is nothing to have."""
    held = np.where(real, np.clip(values, 0, None), 0.0)
    total = held.sum()
    return held / total if total > 0 else None
