"""The comparison of readers that are given by hand, in the place of those on disk."""

from unittest.mock import patch

from coattend.config import entries
from coattend.pipelines.reporting import nodes


class Answers:
    """Metrics and predictions by ``<reader>.<part>``, as `coattend.io.table_store.StoredAnswers` looks them up."""

    def __init__(self, parts):
        self.parts = parts

    def metrics(self, reader):
        return self.parts.get(f"{reader}.metrics")

    def predictions(self, reader):
        return self.parts.get(f"{reader}.predictions")


def compare(benchmark, questions, rejected, passages=None, **parts):
    """Compare the readers whose ``<reader>.metrics`` and ``<reader>.predictions`` are given, None if it was not run."""
    metrics = {name.removesuffix(".metrics"): part for name, part in parts.items() if name.endswith(".metrics")}
    with patch.object(entries, "readers_of", return_value=[]):
        return nodes.compare(benchmark, questions, passages, rejected, Answers(parts), **metrics)
