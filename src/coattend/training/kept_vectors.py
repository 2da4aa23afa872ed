"""Vectors that are kept in a file, as a batch has them."""

from collections.abc import Sequence

import numpy as np
import torch


def kept_as(bf16: bool) -> np.dtype:
    """The precision that they are kept in: half where matrix products run in bf16, else as they were computed."""
    return np.dtype(np.float16 if bf16 else np.float32)


def padded_vectors(kept: np.ndarray, offsets: np.ndarray, rows: Sequence[int], length: int) -> np.ndarray:
    """Some rows of what is kept [rows, length, H], in single precision, zero at padding.

    Args:
        kept: All rows, one after the other [vectors, H].
        offsets: Where each row begins, and where the last one ends.
        rows: Which are wanted.
        length: How long the longest of them is, at least.
    """
    made = np.zeros((len(rows), length, kept.shape[1]), kept.dtype)
    for place, row in enumerate(rows):
        start, end = offsets[row : row + 2]
        made[place, : end - start] = kept[start:end]
    single: np.ndarray = torch.from_numpy(made).float().numpy()  # NumPy takes six times as long to widen them.
    return single
