"""The engine that a run's parameters ask for."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from coattend.engines import local
from coattend.errors import CoattendError
from coattend.parameters import EngineParameters

Item = TypeVar("Item")
Result = TypeVar("Result")


def map_shards(
    engine: EngineParameters, function: Callable[[Item], Result], items: Iterable[Item], **how: Any
) -> Iterator[Result]:
    """Apply a function to items, on this machine or on a cluster.

    Args:
        engine: Where.
        function: A picklable function.
        items: Picklable items.
        how: What else `coattend.engines.local.map_shards` takes, which `coattend.engines.dask.map_shards` does, too.

    Returns:
        The results, as they come.

    Raises:
        CoattendError: If Dask is asked for and is not installed.
    """
    if engine.kind == "local":
        return local.map_shards(function, items, **how)
    try:
        from coattend.engines import dask
    except ModuleNotFoundError as error:
        raise CoattendError(
            f"needs the package {error.name}, which is not installed",
            where="engine.kind: dask",
            cure="pip install 'coattend[dask]'",
        ) from error
    return dask.map_shards(function, items, address=engine.address, **how)
