"""Hooks that check a run before it starts, and say at its end what came out."""

from collections.abc import Iterable
from typing import Any

from kedro.framework.hooks import hook_impl
from kedro.framework.project import pipelines
from kedro.pipeline import Pipeline

from coattend import configuration
from coattend.errors import CoattendError, did_you_mean
from coattend.missing import command_for
from coattend.parameters import BenchmarkParameters, ReaderParameters, training_of

TRAINS = (".model", ".outcome")
"""What the first output of a node that trains ends with."""


class Checks:
    """Refuses parameters that nothing reads, with the nearest name that something does."""

    @hook_impl
    def after_context_created(self, context: Any) -> None:
        """Check the names given with ``--params`` against the configured ones."""
        given = context.config_loader.runtime_params or {}
        if given:
            loader = context.config_loader
            loader.runtime_params = {}
            try:
                configured = loader["parameters"]
            finally:
                loader.runtime_params = given
            _check_overrides(given, configured)

    @hook_impl(tryfirst=True)
    def before_pipeline_run(self, run_params: dict[str, Any], pipeline: Pipeline, catalog: Any) -> None:
        """Check the options of the readers that this run trains, before a run is tracked or anything takes its time."""
        from coattend import readers

        for node in pipeline.nodes:
            if "gpu" not in node.tags:
                continue
            benchmark, reader = _asked(node, catalog)
            recurrent = readers.encoder_of(reader.reader) == "recurrent"
            _check_wiring(node, reader, catalog, reads_words=recurrent)
            training = training_of(benchmark, reader, recurrent=recurrent)
            if node.outputs[0].endswith(TRAINS):
                _check_trained_on(node, training.train_on)
            head = readers.head_for(reader.reader, benchmark.answerable, reader.head)
            readers.resolve(reader.reader, head=head, **reader.options)
        _check_tables(pipeline, catalog)


def _asked(node: Any, catalog: Any) -> tuple[BenchmarkParameters, ReaderParameters]:
    """The benchmark and the reader in a node's name, ``dream.duma.train`` or ``study.<study>.dream.duma``."""
    first, second, *rest = node.name.split(".")
    names = [f"benchmarks.{first}", f"readers.{second}"]
    if first == "study":
        names = [f"studies.{second}.benchmarks.{rest[0]}", f"studies.{second}.variants.{rest[1]}"]
    benchmark, reader = (catalog.load(f"params:{name}") for name in names)
    return benchmark, reader


def _check_wiring(node: Any, reader: ReaderParameters, catalog: Any, *, reads_words: bool) -> None:
    """A run cannot change which tables and parameters a node reads: that is known when pipelines are built."""
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


def _check_trained_on(node: Any, train_on: Iterable[str]) -> None:
    """Whose questions a node reads is known when pipelines are built, too."""
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


def _check_tables(pipeline: Pipeline, catalog: Any) -> None:
    """What a run reads and does not write itself must be there."""
    from coattend.datasets.json_file import JSONDataset
    from coattend.datasets.sharded import ShardedTableDataset
    from coattend.datasets.table import TableDataset

    tables = (JSONDataset, ShardedTableDataset, TableDataset)
    for name in sorted(pipeline.inputs()):
        stored = None if name.startswith("params:") else catalog.get(name)
        if isinstance(stored, tables) and not getattr(stored, "optional", False) and not stored.exists():
            command = command_for(name, pipelines)
            raise CoattendError("does not exist", where=name, cure=f"Write it first: {command}" if command else None)


def _check_overrides(given: dict[str, Any], configured: dict[str, Any], path: str = "") -> None:
    """Every block that ``--params`` names must exist; the fields of a block are checked by its type."""
    for key, value in given.items():
        where = f"{path}{key}"
        if key not in configured:
            cure = did_you_mean(key, list(configured))
            raise CoattendError("there is no such parameter", where=f"--params {where}", cure=cure)
        depth = where.count(".")
        if isinstance(value, dict) and isinstance(configured[key], dict) and depth < 1:
            _check_overrides(value, configured[key], f"{where}.")


checks = Checks()
