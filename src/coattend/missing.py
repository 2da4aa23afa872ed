"""Which command writes a table that is not there."""

from collections.abc import Iterator, Mapping

from kedro.pipeline import Pipeline

DATA_STAGES = ("ingestion", "tagging", "tokenization")
"""Stages that are run as one command: where nothing has changed they cost nothing."""


def command_for(table: str, pipelines: Mapping[str, Pipeline]) -> str | None:
    """The command that writes a table; None where no pipeline does.

    Args:
        table: Its name in the catalog.
        pipelines: All pipelines by name, stages before those that hold stages.
    """
    for name, namespace in _writers(table, pipelines):
        stages = DATA_STAGES[: DATA_STAGES.index(name) + 1] if name in DATA_STAGES else (name,)
        chosen = f" --namespaces {namespace}" if namespace and not name.startswith("study_") else ""
        return f"kedro run --pipelines {','.join(stages)}{chosen}"
    return None


def _writers(table: str, pipelines: Mapping[str, Pipeline]) -> Iterator[tuple[str, str | None]]:
    for name, pipeline in pipelines.items():
        for node in pipeline.nodes:
            if table in node.outputs:
                yield name, node.namespace
