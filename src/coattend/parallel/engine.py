"""Choose the engine that maps shards: local processes or a Dask cluster."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from coattend.config import EngineParameters
from coattend.errors import CoattendError
from coattend.parallel import processes

Item = TypeVar("Item")
Result = TypeVar("Result")


def map_shards(
    engine: EngineParameters, function: Callable[[Item], Result], items: Iterable[Item], **options: Any
) -> Iterator[Result]:
    """Apply a function to items, on this machine or on a cluster.

    Args:
        engine: Local processes, or a cluster and its address.
        function: A picklable function.
        items: Picklable items.
        options: Further arguments of `coattend.parallel.processes.map_shards`; those of Dask's are the same.

    Returns:
        The results, as they come.

    Raises:
        CoattendError: If Dask is configured but not installed.
    """
    if engine.kind == "local":
        return processes.map_shards(function, items, **options)
    try:
        from coattend.parallel import dask
    except ModuleNotFoundError as error:
        raise CoattendError(
            f"needs the package {error.name}, which is not installed",
            where="engine.kind: dask",
            cure="pip install 'coattend[dask]'",
        ) from error
    return dask.map_shards(function, items, address=engine.address, **options)
