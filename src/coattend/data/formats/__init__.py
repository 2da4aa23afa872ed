"""Published formats by name.

A module of this package with a function ``read`` is a format of the module's name; its ``read_parquet``, if there is
one, is the same benchmark as Hugging Face stores it: ``squad`` and ``squad_parquet``.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from importlib import import_module
from pkgutil import iter_modules
from typing import get_args, get_type_hints

from coattend.config import FieldParameters
from coattend.data.formats.base import FormatReader, PassageRecord, Rejection
from coattend.errors import CoattendError, did_you_mean

Reader = Callable[..., Iterator[PassageRecord | Rejection]]
"""A `FormatReader` with options of its own."""


def format_reader(name: str, options: Mapping[str, object], fields: FieldParameters | None = None) -> FormatReader:
    """Return the reader of a format, such as ``squad_parquet``, with the format's own options checked and set; the
    format ``fields`` takes its paths besides."""
    readers = _readers()
    if name not in readers:
        raise CoattendError(f"no format of raw files is called {name!r}", cure=did_you_mean(name, names()))
    _check_options(name, readers[name], options)
    # A source has paths if, and only if, its format takes them.
    paths = {} if fields is None else {"fields": fields}
    return partial(readers[name], **options, **paths)


def names() -> list[str]:
    """List the formats."""
    return sorted(_readers())


@cache
def _readers() -> dict[str, Reader]:
    readers: dict[str, Reader] = {}
    for module in iter_modules(__path__):
        functions = vars(import_module(f"{__name__}.{module.name}"))
        if "read" in functions:
            readers[module.name] = functions["read"]
            if "read_parquet" in functions:
                readers[f"{module.name}_parquet"] = functions["read_parquet"]
    return readers


def _check_options(name: str, read: Reader, options: Mapping[str, object]) -> None:
    # An option is an argument whose type is Literal: its values are those that exist.
    allowed = {key: get_args(hint) for key, hint in get_type_hints(read).items() if get_args(hint) and key != "return"}
    where = f"options of the format {name!r}"
    for key, value in options.items():
        if key not in allowed:
            raise CoattendError(f"there is no option {key!r}", where=where, cure=did_you_mean(key, list(allowed)))
        if value not in allowed[key]:
            cure = did_you_mean(str(value), [str(choice) for choice in allowed[key]])
            raise CoattendError(f"{key} cannot be {value!r}", where=where, cure=cure)
