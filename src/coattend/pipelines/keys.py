"""The parts of the dotted names of nodes and datasets.

A reader's node is ``<benchmark>.<reader>.<deed>``, a benchmark's ``<benchmark>.<deed>``, a study's
``study.<study>.<benchmark>.<variant or deed>`` or ``study.<study>.<deed>``. Datasets have such a prefix, too, and an
entry of the catalog behind it.
"""

from typing import NamedTuple

from kedro.pipeline.node import Node

DEFAULT = "__default__"
"""Name of the pipeline that ``kedro run`` runs."""
STUDY = "study"
"""First part of the names in studies."""
TRAINS = "gpu"
"""Tag of the nodes that train a reader or let it answer."""


class NodeKey(NamedTuple):
    """The experiment that a node belongs to: benchmark and reader (or variant of a study), None where the node is about
    several, and study, None for nodes of a benchmark's stages."""

    benchmark: str | None
    reader: str | None
    study: str | None = None

    @classmethod
    def of(cls, node: Node) -> "NodeKey":
        """The key of a node, by its namespace."""
        parts = (node.namespace or "").split(".")
        if parts[0] != STUDY:
            # Padding lets short namespaces fill the missing parts with None.
            first, reader, *_ = [*parts, None, None]
            return cls(first or None, reader)
        _, study, benchmark, *_ = [*parts, None, None]
        return cls(benchmark, node.short_name if TRAINS in node.tags else None, study)

    @property
    def experiment(self) -> str | None:
        """Name of the MLflow experiment: the study's pipeline, or the benchmark."""
        return self.benchmark if self.study is None else f"{STUDY}_{self.study}"

    @property
    def parameters(self) -> tuple[str, str]:
        """Names of the benchmark's and of the reader's parameters in the catalog."""
        if self.study is None:
            return f"params:benchmarks.{self.benchmark}", f"params:readers.{self.reader}"
        study = f"params:studies.{self.study}"
        return f"{study}.benchmarks.{self.benchmark}", f"{study}.variants.{self.reader}"


def entry_of(dataset: str) -> str:
    """The catalog entry of a dataset, the last part of its name: ``metrics``, ``model``."""
    return dataset.rpartition(".")[2]


def prefix_of(dataset: str) -> str:
    """The name of a dataset without its catalog entry: ``dream.poi_net`` of ``dream.poi_net.metrics``."""
    return dataset.rpartition(".")[0]
