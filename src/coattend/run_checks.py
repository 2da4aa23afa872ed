"""What is wrong with a run, before it starts."""

from collections.abc import Iterable
from typing import Any

from kedro.framework.project import pipelines
from kedro.pipeline import Pipeline

from coattend import configuration
from coattend.errors import CoattendError, did_you_mean
from coattend.missing import command_for
from coattend.parameters import BenchmarkParameters, ReaderParameters


def check_wiring(node: Any, reader: ReaderParameters, catalog: Any, *, reads_words: bool) -> None:
    """A run cannot change which tables and parameters a node reads: that is known when pipelines are built.

    Args:
        node: A node that trains or asks.
        reader: The reader's entry as this run has it.
        catalog: The run's catalog.
        reads_words: Whether the reader reads words.

    Raises:
        CoattendError: If the entry asks for other tables.
    """
    kinds = ("a reader of subwords", "a reader of words")
    has_words = any(name.endswith(".tags") for name in node.inputs)
    _, tagging, tokenizer, _ = next(name for name in node.inputs if name.endswith(".tokens")).split(".")
    profile = next(name for name in node.inputs if name.startswith("params:encoders.")).rpartition(".")[2]
    encoder = catalog.load(f"params:encoders.{profile}")
    wired = {
        f"readers.{reader.name}.encoder": (reader.encoder, profile),
        f"readers.{reader.name}.tagging": (reader.tagging, tagging),
        f"encoders.{profile}.tokenizer": (encoder.tokenizer, tokenizer),
        f"readers.{reader.name}.reader": (kinds[reads_words], kinds[has_words]),
    }
    for where, (asked, built) in wired.items():
        if asked != built:
            raise CoattendError(
                f"is {asked!r}, but the pipelines are built for {built!r}",
                where=where,
                cure="Say it in a parameter file: it decides which tables are read, which --params cannot change",
            )


def check_trained_on(node: Any, train_on: Iterable[str]) -> None:
    """Whose questions a node reads is known when pipelines are built, too.

    Args:
        node: A node that trains.
        train_on: The benchmarks that it shall train on.

    Raises:
        CoattendError: If it does not read one of them.
    """
    read = {name.removesuffix(".questions") for name in node.inputs if name.endswith(".questions")}
    known = configuration.benchmark_names()
    for name in train_on:
        if name in read:
            continue
        cure = "A study trains on other benchmarks than the one that is asked: see conf/base/studies/multi_task.yml"
        raise CoattendError(
            f"names {name!r}, whose questions are not read here",
            where=f"{node.name}, training.train_on",
            cure=cure if name in known else did_you_mean(name, known),
        )


def check_tables(pipeline: Pipeline, catalog: Any) -> None:
    """What a run reads and does not write itself must be there.

    Args:
        pipeline: What is run.
        catalog: The run's catalog.

    Raises:
        CoattendError: If a table is missing, with the command that writes it.
    """
    from coattend.datasets.json_file import JSONDataset
    from coattend.datasets.sharded import ShardedTableDataset
    from coattend.datasets.table import TableDataset

    tables = (JSONDataset, ShardedTableDataset, TableDataset)
    for name in sorted(pipeline.inputs()):
        stored = None if name.startswith("params:") else catalog.get(name)
        if isinstance(stored, tables) and not getattr(stored, "optional", False) and not stored.exists():
            command = command_for(name, pipelines)
            raise CoattendError("does not exist", where=name, cure=f"Write it first: {command}" if command else None)


def check_overrides(given: dict[str, Any], configured: dict[str, Any], path: str = "") -> None:
    """Every block that ``--params`` names must exist; the fields of a block are checked by its type.

    Args:
        given: What is named there.
        configured: The parameters without it.
        path: Where in the parameters this is.

    Raises:
        CoattendError: If there is no such parameter.
    """
    for key, value in given.items():
        where = f"{path}{key}"
        if key not in configured:
            cure = did_you_mean(key, list(configured))
            if not path and key in BenchmarkParameters.model_fields:
                cure = f"Say whose: benchmarks.<name>.{key}"
            raise CoattendError("there is no such parameter", where=f"--params {where}", cure=cure)
        depth = where.count(".")
        if isinstance(value, dict) and isinstance(configured[key], dict) and depth < 1:
            check_overrides(value, configured[key], f"{where}.")
