"""Hooks that check a run before it starts, and say at its end what came out."""

from typing import Any

from kedro.framework.hooks import hook_impl
from kedro.pipeline import Pipeline

from coattend.errors import CoattendError, did_you_mean
from coattend.parameters import training_of


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

    @hook_impl
    def before_pipeline_run(self, run_params: dict[str, Any], pipeline: Pipeline, catalog: Any) -> None:
        """Check the options of the readers that this run trains, before anything else takes its time."""
        from coattend import readers

        for node in pipeline.nodes:
            if "gpu" not in node.tags:
                continue
            benchmark, reader = (_parameter(node, kind, catalog) for kind in ("benchmarks", "readers"))
            training_of(benchmark, reader)
            head = readers.head_for(reader.reader, benchmark.tasks, reader.head)
            readers.resolve(reader.reader, head=head, **reader.options)


def _parameter(node: Any, kind: str, catalog: Any) -> Any:
    return next(catalog.load(name) for name in node.inputs if name.startswith(f"params:{kind}."))


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
