"""Spans of many texts in flat arrays."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Spans(NamedTuple):
    """Words or subwords of T texts, one text after the other.

    Attributes:
        starts: Offset of each span in its text, int32 [n].
        ends: Its end, exclusive, int32 [n].
        offsets: Text t's spans lie at ``offsets[t]:offsets[t + 1]``, int32 [T + 1].
    """

    starts: np.ndarray
    ends: np.ndarray
    offsets: np.ndarray

    @property
    def rows(self) -> np.ndarray:
        """The text of each span, int64 [n]."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))


def offsets_of(lengths: Sequence[int]) -> np.ndarray:
    """Where each of several lists begins when they stand one after the other, int32 [T + 1]."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
