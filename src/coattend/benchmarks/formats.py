"""Native formats by name: a format is a module of this package with a function ``read``."""

from collections.abc import Iterator, Mapping
from functools import partial
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Protocol, get_args, get_type_hints

from coattend import benchmarks
from coattend.benchmarks.files import Readable
from coattend.benchmarks.records import PassageRecord, Rejected
from coattend.errors import CoattendError, did_you_mean


class Read(Protocol):
    """Reads one raw file."""

    def __call__(self, path: Readable, *, max_characters: int) -> Iterator[PassageRecord | Rejected]:
        """Yield the file's passages, and the records that are left out.

        Args:
            path: The file.
            max_characters: Longest text; a record with a longer one is left out.

        Raises:
            CoattendError: If the file as a whole cannot be used.
        """


def reader_of(name: str, options: Mapping[str, Any]) -> Read:
    """The reader of a format.

    Args:
        name: Name of its module: ``dream``, ``squad``, ``cbt``.
        options: The format's own options.

    Raises:
        CoattendError: If there is no such format or option, or an option has no such value.
    """
    if name not in _modules():
        raise CoattendError(f"no format of raw files is called {name!r}", cure=did_you_mean(name, names()))
    module = import_module(f"{benchmarks.__name__}.{name}")
    if not hasattr(module, "read"):
        raise CoattendError(f"no format of raw files is called {name!r}", cure=did_you_mean(name, names()))
    _check_options(name, module.read, options)
    return partial(module.read, **options)


def _check_options(name: str, read: Read, options: Mapping[str, Any]) -> None:
    kinds = {key: kind for key, kind in get_type_hints(read).items() if get_args(kind) and key != "return"}
    for key, value in options.items():
        where = f"options of the format {name!r}"
        if key not in kinds:
            raise CoattendError(f"there is no option {key!r}", where=where, cure=did_you_mean(key, list(kinds)))
        if value not in get_args(kinds[key]):
            known = [str(one) for one in get_args(kinds[key])]
            raise CoattendError(f"{key} cannot be {value!r}", where=where, cure=did_you_mean(str(value), known))


def names() -> list[str]:
    """The formats that there are."""
    return [name for name in _modules() if hasattr(import_module(f"{benchmarks.__name__}.{name}"), "read")]


def _modules() -> list[str]:
    return [module.name for module in iter_modules(benchmarks.__path__)]
