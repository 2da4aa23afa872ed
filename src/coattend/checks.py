"""Checks of a run before it starts: parameters, wiring, training sets and tables."""

import logging
from collections.abc import Iterable, Mapping
from typing import Any

from kedro.framework.project import pipelines
from kedro.pipeline import Pipeline
from kedro.pipeline.node import Node

from coattend import studies
from coattend.config import EncoderParameters, ReaderParameters, TrainingParameters
from coattend.config.entries import TextProfiles, benchmark_names, reader_entry, text_profiles
from coattend.config.parameters import nearest_parameter
from coattend.config.reader import check_fine_tuning
from coattend.config.source import run_command
from coattend.errors import CoattendError, did_you_mean
from coattend.pipelines.keys import NodeKey, entry_of, prefix_of

logger = logging.getLogger(__name__)

DATA_STAGES = ("ingestion", "tagging", "tokenization")
"""Stages that are run as one command: without changes they cost nothing."""
NEED_ANSWERS = ("submit", "rerank")
"""Nodes that need the predictions which pages do without."""


def check_runtime_params(
    runtime_params: Mapping[str, object], parameters: Mapping[str, object], path: tuple[str, ...] = ()
) -> None:
    """Check that every block that ``--params`` names exists; the fields of a block are checked by its model."""
    for key, value in runtime_params.items():
        if key not in parameters:
            cure = did_you_mean(key, list(parameters)) if path else nearest_parameter(key, parameters)
            where = f"--params {'.'.join((*path, key))}"
            raise CoattendError("there is no such parameter", where=where, cure=cure)
        block = parameters[key]
        if isinstance(value, dict) and isinstance(block, dict) and not path:
            check_runtime_params(value, block, (key,))


def check_wiring(key: NodeKey, reader: ReaderParameters, catalog: Any, *, reads_words: bool) -> None:
    """Check that a reader's parameters agree with the tables that its node was built for, which a run cannot change."""
    built = _built_profiles(key)
    tokenizer = EncoderParameters.model_validate(catalog.load(f"params:encoders.{built.encoder}")).tokenizer
    readings = ("a reader of subwords", "a reader of words")
    wiring = {
        f"readers.{reader.name}.encoder": (reader.encoder, built.encoder),
        f"readers.{reader.name}.tagging": (reader.tagging, built.tagging),
        f"encoders.{built.encoder}.tokenizer": (tokenizer, built.tokenizer),
        f"readers.{reader.name}.reader": (readings[reads_words], readings[built.reads_words]),
    }
    for where, (wanted, wired) in wiring.items():
        if wanted != wired:
            in_base = where.startswith("encoders") or where.endswith(".reader")
            files = "a file of the base environment" if in_base else "a parameter file"
            raise CoattendError(
                f"is {wanted!r}, but the pipelines are built for {wired!r}",
                where=where,
                cure=f"Say it in {files}: it decides which tables are read, which --params cannot change",
            )


def _built_profiles(key: NodeKey) -> TextProfiles:
    benchmark = str(key.benchmark)
    if key.study is None:
        return text_profiles(reader_entry(str(key.reader)), benchmark)
    return text_profiles(studies.wired_study(key.study).entry(str(key.reader)), benchmark)


def check_encoder(key: NodeKey, training: TrainingParameters, catalog: Any) -> None:
    """Refuse a training that its encoder does not allow, and warn of one that rarely works, by what is published."""
    encoder = _built_profiles(key).encoder
    parameters = EncoderParameters.model_validate(catalog.load(f"params:encoders.{encoder}"))
    warning = check_fine_tuning(encoder, parameters, training)
    if warning is not None:
        logger.warning("%s.%s: %s", key.benchmark, key.reader, warning)


def check_trained_on(node: Node, benchmarks: Iterable[str]) -> None:
    """Check that a node reads the questions of the benchmarks that it shall train on, which a run cannot change."""
    for name in benchmarks:
        if f"{name}.questions" in node.inputs:
            continue
        cure = "A study trains on other benchmarks than the one that is asked: see conf/base/studies/multi_task.yml"
        raise CoattendError(
            f"names {name!r}, whose questions are not read here",
            where=f"{node.name}, training.train_on",
            cure=cure if name in benchmark_names() else did_you_mean(name, benchmark_names()),
        )


def check_tables(pipeline: Pipeline, catalog: Any) -> None:
    """Check that the tables exist that a run reads and does not write, else name the command that writes them."""
    from coattend.io.checked import JSONDataset, TableDataset
    from coattend.io.sharded import ShardedTableDataset

    missing = []
    required = {name for node in pipeline.nodes if node.short_name in NEED_ANSWERS for name in node.inputs}
    for name in sorted(pipeline.inputs()):
        dataset = None if name.startswith("params:") else catalog.get(name)
        if not isinstance(dataset, JSONDataset | ShardedTableDataset | TableDataset):
            continue
        if (name in required or not getattr(dataset, "optional", False)) and not dataset.exists():
            missing.append(name)
    if missing:
        table = min(missing, key=_order_of_writing)
        command = writing_command(table, pipelines)
        raise CoattendError("does not exist", where=table, cure=f"Write it first: {command}" if command else None)


def _order_of_writing(table: str) -> tuple[bool, int]:
    """Sort what data stages write before what is made of it, the last stage first: its command runs all before it."""
    numbers = (number for number, pipeline in enumerate(pipelines.values()) if table in pipeline.all_outputs())
    stage = next(numbers, len(pipelines))
    of_data = stage < len(DATA_STAGES)
    return not of_data, -stage if of_data else stage


LOOKED_UP: Mapping[str, tuple[str, ...]] = {"answered_before": ("metrics",), "studied_before": ("findings",)}
"""Datasets of what is on disk, by entry, and the entries of what their nodes wait for where the same run writes it."""
STORES = {"trials": ("model", "metrics", "outcome"), "mlflow_store": ("metrics",)}
"""Stores of trials, and the entries of what a run writes when it has put trials there."""


def check_waits(pipeline: Pipeline) -> None:
    """Check that nodes that look results up on disk wait for those of the same run. A service, which builds its
    pipelines before it knows what is run together, cannot have them wait."""
    written = pipeline.all_outputs()
    for node in pipeline.nodes:
        key = NodeKey.of(node)
        for lookup in node.inputs:
            entries, prefix = LOOKED_UP.get(entry_of(lookup), ()), prefix_of(lookup)
            # Nodes of a reader or of a study are told which trials to take, and wait for them.
            if lookup in STORES and key.reader is None and key.study is None:
                entries, prefix = STORES[lookup], str(key.benchmark) if key.benchmark in benchmark_names() else ""
            # Without a prefix, all results are looked up.
            within = f"{prefix}." if prefix else ""
            results = {name for name in written if entry_of(name) in entries and name.startswith(within)}
            if results - set(node.inputs):
                raise CoattendError(
                    f"would not wait for {min(results - set(node.inputs))}, which this run writes",
                    where=node.name,
                    cure="Run its pipeline after the others, not with them",
                )


def writing_command(table: str, registry: Mapping[str, Pipeline]) -> str | None:
    """The command that writes a table and what it is made of, found among all pipelines by name, stages before those
    that contain stages; None where no pipeline does."""
    for name, pipeline in registry.items():
        for node in pipeline.nodes:
            if table not in node.outputs:
                continue
            namespace = node.namespace or ""
            if name in DATA_STAGES:
                # A data stage reads what the stages before it write, and the first one what is made of books.
                books = registry["book_cloze"].all_outputs() if "book_cloze" in registry else ()
                stages = [*DATA_STAGES[: DATA_STAGES.index(name) + 1]]
                stages[:0] = ["book_cloze"] if f"{namespace}.raw" in books else []
                return run_command(pipelines=",".join(stages), namespaces=namespace)
            if name.startswith(studies.PREFIX):
                # Variants read the costs, which are written before any is trained.
                to_nodes = node.name if entry_of(table) == "costs" else ""
                return run_command(pipelines=name, to_nodes=to_nodes)
            # A reader's namespace alone brings along its data.
            return run_command(pipelines="" if NodeKey.of(node).reader else name, namespaces=namespace)
    return None
