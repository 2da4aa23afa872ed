"""A profile is a table of single numbers: which part of the benchmark, what is measured, the value."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np


class Row(NamedTuple):
    """One number.

    Attributes:
        section: What it is about: ``counts``, ``lengths``, ``tags`` ...
        split: The split, or ``all``.
        subset: The subset, or ``all``.
        name: What is measured.
        value: The number; shares are in percent.
        published: What the benchmark's publishers say, if they do.
    """

    section: str
    split: str
    subset: str
    name: str
    value: float
    published: float | None = None


QUANTILES = {"mean": None, "median": 0.5, "90 %": 0.9, "99 %": 0.99, "longest": 1.0}


def distribution(section: str, split: str, subset: str, name: str, values: np.ndarray) -> Iterator[Row]:
    """Mean and quantiles of some lengths; nothing without lengths."""
    if not len(values):
        return
    for label, quantile in QUANTILES.items():
        value = values.mean() if quantile is None else np.quantile(values, quantile, method="higher")
        yield Row(section, split, subset, f"{name}, {label}", float(value))
