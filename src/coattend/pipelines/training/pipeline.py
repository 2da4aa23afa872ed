"""Nodes of the training pipeline for one reader on one benchmark."""

from functools import partial

from kedro.pipeline import node
from kedro.pipeline.node import Node
from kedro.pipeline.preview_contract import MermaidPreview

from coattend import readers
from coattend.config import ReaderParameters, entries
from coattend.config.entries import TextProfiles
from coattend.pipelines.keys import TRAINS
from coattend.pipelines.training.nodes import train


def create_nodes(benchmark: str, reader: str, profiles: TextProfiles) -> list[Node]:
    """Train a reader, whose profiles decide which tables it reads: node ``<benchmark>.<reader>.train``."""
    return [
        node(
            train,
            tables_of(benchmark, profiles) | {"trials": "trials"} | model_parameters(benchmark, reader),
            f"{benchmark}.{reader}.model",
            name="train",
            namespace=f"{benchmark}.{reader}",
            tags=TRAINS,
            preview_fn=partial(architecture_preview, benchmark, reader),
        )
    ]


def architecture_preview(benchmark: str, reader: str) -> MermaidPreview:
    """A reader's architecture on a benchmark as a Mermaid diagram, with the options of the base environment."""
    entry = ReaderParameters.model_validate(entries.reader_entry(reader))
    head = readers.head_for(entry.reader, entries.benchmark(benchmark).answerable, entry.head)
    return MermaidPreview(content=readers.architecture(entry.reader, head=head, **entry.options))


def tables_of(benchmark: str, profiles: TextProfiles) -> dict[str, str]:
    """The tables of a benchmark that a reader reads, by the node's argument."""
    tables = {
        "questions": f"{benchmark}.questions",
        "passages": f"{benchmark}.passages",
        "tokens": f"{benchmark}.{profiles.tagging}.{profiles.tokenizer}.tokens",
    }
    return tables | ({"tags": f"{benchmark}.{profiles.tagging}.tags"} if profiles.reads_words else {})


def model_parameters(benchmark: str, reader: str) -> dict[str, str]:
    """The parameters that training and prediction read, by the node's argument."""
    return {
        "benchmark": f"params:benchmarks.{benchmark}",
        "reader": f"params:readers.{reader}",
        "profiles": "params:profiles",
    }
