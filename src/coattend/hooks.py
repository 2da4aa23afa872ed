"""Hooks that check a run before it starts, name the node that runs, and summarise the run at its end."""

import logging
import os
import time
from typing import Any

from kedro.pipeline import Pipeline
from kedro.pipeline.node import Node

from coattend.config.project import RUN_ID, project_hook
from coattend.errors import CoattendError
from coattend.pipelines.keys import TRAINS, NodeKey, entry_of

logger = logging.getLogger(__name__)


class RunHooks:
    """Refuses a run that cannot succeed, logs each node, and logs a summary at the end."""

    def __init__(self) -> None:
        self._start, self._process, self._node_count, self._started_nodes = time.time(), 0, 0, 0

    @project_hook()
    def after_context_created(self, context: Any) -> None:
        """Check the names of ``--params`` against the configured parameters."""
        from coattend.checks import check_runtime_params

        loader = context.config_loader
        if loader.runtime_params:
            check_runtime_params(loader.runtime_params, loader.without_runtime_params())

    @project_hook(tryfirst=True)
    def before_pipeline_run(self, run_params: dict[str, Any], pipeline: Pipeline, catalog: Any) -> None:
        """Check the readers that this run trains and the tables that it reads, before a run is tracked."""
        from coattend.checks import check_tables, check_waits

        check_waits(pipeline)
        for node in pipeline.nodes:
            if TRAINS in node.tags:
                _check_reader(node, catalog)
        check_tables(pipeline, catalog)
        # Spawned workers inherit the environment, and know by it that a run of this project started them.
        os.environ[RUN_ID] = run_params["run_id"]
        self._start, self._process = time.time(), os.getpid()
        self._node_count, self._started_nodes = len(pipeline.nodes), 0

    @project_hook()
    def before_node_run(self, node: Node) -> None:
        """Log the node; a worker process of a parallel run does not know the number of its predecessors."""
        self._started_nodes += 1
        count = f" ({self._started_nodes} of {self._node_count})" if self._process == os.getpid() else ""
        logger.info("%s%s", node.name, count)

    @project_hook(trylast=True)
    def after_pipeline_run(self, pipeline: Pipeline, catalog: Any) -> None:
        """Log the results, and fail if a trial did."""
        from coattend.reports.tables import format_duration
        from coattend.summary import index_pages, summary, trial_failures

        os.environ.pop(RUN_ID, None)
        for line in summary(pipeline, catalog, self._start, index_pages(pipeline, catalog)):
            logger.info("%s", line, extra={"markup": False})
        failure = trial_failures(pipeline, catalog)
        if failure is not None:
            raise failure
        logger.info("Done in %s", format_duration(time.time() - self._start))

    @project_hook()
    def on_pipeline_error(self, pipeline: Pipeline, catalog: Any) -> None:
        """Forget the run, and list the pages that it drew."""
        from coattend.summary import index_pages

        os.environ.pop(RUN_ID, None)
        index_pages(pipeline, catalog)


def _check_reader(node: Node, catalog: Any) -> None:
    """Check that the reader of a node can be built and trained as its parameters say."""
    from coattend import readers
    from coattend.checks import check_encoder, check_trained_on, check_wiring
    from coattend.config import training_of

    key = NodeKey.of(node)
    benchmark, reader = map(catalog.load, key.parameters)
    reader = reader.on(benchmark)
    recurrent = readers.encoder_of(reader.reader) == "recurrent"
    check_wiring(key, reader, catalog, reads_words=recurrent)
    training = training_of(benchmark, reader, recurrent=recurrent)
    if entry_of(node.outputs[0]) in ("model", "outcome"):
        check_trained_on(node, training.train_on)
        # A reader of words has no encoder to fine-tune, and a language model is not trained.
        if not recurrent and readers.is_trained(reader.reader):
            check_encoder(key, training, catalog)
    head = readers.head_for(reader.reader, benchmark.answerable, reader.head)
    try:
        readers.resolve(reader.reader, head=head, **reader.options)
    except CoattendError as error:
        raise CoattendError(error.problem, where=f"{node.name}, {error.where}", cure=error.cure) from None


checks = RunHooks()
"""The hooks, as their entry point names them."""
