"""What a Kedro run's trials were trained on, as one hash."""

import hashlib
from collections.abc import Iterable
from typing import Any

from coattend.evaluation.runs import finished

KEPT = (".model", ".outcome", ".metrics")
"""What tables with trials end with."""


def data_hash(nodes: Iterable[Any], catalog: Any) -> str | None:
    """The hash of the questions that the trials of nodes were trained on; of several, one of them all.

    Args:
        nodes: Nodes that were run.
        catalog: The run's catalog.

    Returns:
        The hash; None where no trial is finished.
    """
    tables = {name for node in nodes for name in (*node.inputs, *node.outputs) if name.endswith(KEPT)}
    kept = (catalog.load(name) for name in sorted(tables) if catalog.exists(name))
    found = sorted({trial["data"] for one in kept if one for trial in finished(one["trials"])})
    if len(found) > 1:
        return hashlib.sha256(" ".join(found).encode()).hexdigest()[: len(found[0])]
    return found[0] if found else None
