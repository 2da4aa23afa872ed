"""Hooks that check a run before it starts, and say at its end what came out."""

from typing import Any

from kedro.framework.hooks import hook_impl
from kedro.pipeline import Pipeline

from coattend.parameters import BenchmarkParameters, ReaderParameters, training_of
from coattend.run_checks import check_overrides, check_tables, check_trained_on, check_wiring

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
            readers.resolve(reader.reader, head=head, **reader.options)
        check_tables(pipeline, catalog)


def _asked(node: Any, catalog: Any) -> tuple[BenchmarkParameters, ReaderParameters]:
    """The benchmark and the reader in a node's name, ``dream.duma.train`` or ``study.<study>.dream.duma``."""
    first, second, *rest = node.name.split(".")
    names = [f"benchmarks.{first}", f"readers.{second}"]
    if first == "study":
        names = [f"studies.{second}.benchmarks.{rest[0]}", f"studies.{second}.variants.{rest[1]}"]
    benchmark, reader = (catalog.load(f"params:{name}") for name in names)
    return benchmark, reader


checks = Checks()
