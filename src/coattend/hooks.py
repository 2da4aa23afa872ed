"""Hooks that check a run before it starts, and say at its end what came out."""

import logging
import os
import time
from typing import Any

from kedro.framework.hooks import hook_impl
from kedro.pipeline import Pipeline

from coattend.errors import CoattendError
from coattend.parameters import BenchmarkParameters, ReaderParameters, training_of
from coattend.run_checks import check_overrides, check_tables, check_trained_on, check_wiring

TRAINS = (".model", ".outcome")
"""What the first output of a node that trains ends with."""

logger = logging.getLogger(__name__)


class Checks:
    """Refuses what a run cannot do before it begins, names the node that runs, and says at the end what came out."""

    def __init__(self) -> None:
        self._began, self._process, self._nodes, self._begun = time.time(), 0, 0, 0

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
            check_overrides(given, configured)

    @hook_impl(tryfirst=True)
    def before_pipeline_run(self, run_params: dict[str, Any], pipeline: Pipeline, catalog: Any) -> None:
        """Check the options of the readers that this run trains, before a run is tracked or anything takes its time."""
        from coattend import readers

        for node in pipeline.nodes:
            if "gpu" not in node.tags:
                continue
            benchmark, reader = _asked(node, catalog)
            recurrent = readers.encoder_of(reader.reader) == "recurrent"
            check_wiring(node, reader, catalog, reads_words=recurrent)
            training = training_of(benchmark, reader, recurrent=recurrent)
            if node.outputs[0].endswith(TRAINS):
                check_trained_on(node, training.train_on)
            head = readers.head_for(reader.reader, benchmark.answerable, reader.head)
            try:
                readers.resolve(reader.reader, head=head, **reader.options)
            except CoattendError as error:
                raise CoattendError(error.problem, where=f"{node.name}, {error.where}", cure=error.cure) from None
        check_tables(pipeline, catalog)
        self._began, self._process = time.time(), os.getpid()
        self._nodes, self._begun = len(pipeline.nodes), 0

    @hook_impl
    def before_node_run(self, node: Any) -> None:
        """Say which node runs; a process of a parallel run does not know how many did."""
        self._begun += 1
        count = f" ({self._begun} of {self._nodes})" if self._process == os.getpid() else ""
        logger.info("%s%s", node.name, count)

    @hook_impl(trylast=True)
    def after_pipeline_run(self, pipeline: Pipeline, catalog: Any) -> None:
        """Say what came out, and end as failed where a trial did."""
        from coattend.summary import failures, summary, took

        for line in summary(pipeline, catalog, self._began):
            logger.info("%s", line, extra={"markup": False})
        failed = failures(pipeline, catalog)
        if failed is not None:
            raise failed
        logger.info(took(self._began))


def _asked(node: Any, catalog: Any) -> tuple[BenchmarkParameters, ReaderParameters]:
    """The benchmark and the reader in a node's name, ``dream.duma.train`` or ``study.<study>.dream.duma``."""
    first, second, *rest = node.name.split(".")
    names = [f"benchmarks.{first}", f"readers.{second}"]
    if first == "study":
        names = [f"studies.{second}.benchmarks.{rest[0]}", f"studies.{second}.variants.{rest[1]}"]
    benchmark, reader = (catalog.load(f"params:{name}") for name in names)
    return benchmark, reader


checks = Checks()
