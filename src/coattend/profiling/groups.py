"""The parts of a benchmark that a profile tells about: each split, and each subset of it."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from coattend.profiling.rows import EVERYTHING


def groups(questions: pa.Table) -> Iterator[tuple[str, str, np.ndarray]]:
    """Split, subset, and the rows of its questions; ``all`` subsets of a split first."""
    splits = np.array(questions["split"].cast(pa.string()).to_pylist(), dtype=object)
    subsets = np.array(questions["subset"].cast(pa.string()).to_pylist(), dtype=object)
    for split in sorted(set(splits)):
        rows = np.flatnonzero(splits == split)
        yield split, EVERYTHING, rows
        for subset in sorted({name for name in subsets[rows] if name is not None}):
            yield split, subset, rows[subsets[rows] == subset]
