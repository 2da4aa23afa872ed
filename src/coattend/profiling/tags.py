"""How often each part-of-speech tag occurs, ERR among them."""

from collections.abc import Iterator

import numpy as np
import pyarrow.compute as pc
import pyarrow.dataset as pads

from coattend.evaluation.groups import EVERYTHING
from coattend.profiling.rows import Row


def tag_shares(tags: pads.Dataset, names: tuple[str, ...]) -> Iterator[Row]:
    """The share of each tag among the words of all distinct texts, the most frequent first.

    Args:
        tags: The stored tags.
        names: Tag id to name.
    """
    counts = np.zeros(len(names), np.int64)
    for batch in tags.to_batches(columns=["tags"]):
        values = pc.list_flatten(batch.column("tags")).to_numpy(zero_copy_only=False)
        counts += np.bincount(values, minlength=len(names))
    for number in np.argsort(-counts, kind="stable"):
        if counts[number]:
            share = 100 * counts[number] / counts.sum()
            yield Row("tags", EVERYTHING, EVERYTHING, f"{names[number]}, % of words", float(share))
