"""Native formats by name: a format is a module of this package with a function ``read``."""

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Protocol

from coattend import benchmarks
from coattend.benchmarks.records import PassageRecord, Rejected
from coattend.errors import CoattendError, did_you_mean


class Read(Protocol):
    """Reads one raw file."""

    def __call__(self, path: Path, *, max_characters: int) -> Iterator[PassageRecord | Rejected]:
        """Yield the file's passages, and the records that are left out.

        Args:
            path: The file.
            max_characters: Longest text; a record with a longer one is left out.

        Raises:
            CoattendError: If the file as a whole cannot be used.
        """


def reader_of(name: str) -> Read:
    """The reader of a format.

    Args:
        name: Name of its module: ``dream``, ``squad``, ``cbt``.

    Raises:
        CoattendError: If there is no such format.
    """
    if name not in _modules():
        raise CoattendError(f"no format of raw files is called {name!r}", cure=did_you_mean(name, names()))
    module = import_module(f"{benchmarks.__name__}.{name}")
    if not hasattr(module, "read"):
        raise CoattendError(f"no format of raw files is called {name!r}", cure=did_you_mean(name, names()))
    return module.read


def names() -> list[str]:
    """The formats that there are."""
    return [name for name in _modules() if hasattr(import_module(f"{benchmarks.__name__}.{name}"), "read")]


def _modules() -> list[str]:
    return [module.name for module in iter_modules(benchmarks.__path__)]
