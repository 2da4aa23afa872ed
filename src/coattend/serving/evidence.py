"""Evidence for an answer: the tokens of the passage that the reader attended to most."""

from typing import TypedDict

import numpy as np

from coattend.inference.attention_maps import SPAN_MAPS, ForwardTrace, self_attention
from coattend.readers.reader import Reader

MAX_EVIDENCE_TOKENS = 10
"""Number of tokens in the evidence."""


class EvidenceToken(TypedDict):
    """A token of the passage with its characters there and its share of the attention."""

    text: str
    start: int | None
    end: int | None
    weight: float


def most_attended_tokens(reader: Reader, trace: ForwardTrace, sequence: int) -> list[EvidenceToken]:
    """Return the tokens with the most attention, the heaviest first.

    Every map of the passage that its interaction has counts the same: over turns, heads or layers its mean is taken,
    and of that each token's share of what the passage has. Where the interaction has none, as that of ``plain``, it is
    what the question's tokens see of the passage in the encoder's last layer.

    Args:
        reader: The reader.
        trace: What it made of a question.
        sequence: The sequence that the answer is of.

    Returns:
        For each token its text, its place in the passage and its weight; weights of all tokens add up to one.
    """
    tokens, maps = trace.sequences[sequence].passage, trace.sequences[sequence].maps
    # Special tokens have no characters in the passage.
    is_token = np.array([token.start is not None for token in tokens])
    passage_maps = [
        values for name, values in maps.items() if trace.legend[name].seen == "passage" and name not in SPAN_MAPS
    ]
    shares = [
        share
        for share in (_share(values.mean(0, dtype=np.float64), is_token) for values in passage_maps)
        if share is not None
    ]
    if not shares:
        layer = self_attention(reader, trace.batch)
        share = None if layer is None else _share(layer[sequence, : len(tokens)].astype(np.float64), is_token)
        if share is None:
            return []
        shares = [share]
    weights = np.mean(shares, axis=0)
    # A stable sort keeps equally heavy tokens in the order of the passage.
    heaviest = [
        (tokens[index], float(weights[index])) for index in np.argsort(-weights, kind="stable")[:MAX_EVIDENCE_TOKENS]
    ]
    return [
        {"text": token.text, "start": token.start, "end": token.end, "weight": weight}
        for token, weight in heaviest
        if weight > 0
    ]


def _share(values: np.ndarray, is_token: np.ndarray) -> np.ndarray | None:
    """Share of each token in a map [P], 0 for special tokens; None if the map is empty."""
    weights = np.where(is_token, np.clip(values, 0, None), 0.0)
    total = weights.sum()
    return weights / total if total > 0 else None
