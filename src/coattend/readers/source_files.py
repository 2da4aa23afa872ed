"""The code that makes a reader what it is."""

import importlib
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from coattend.readers import registry
from coattend.readers.assembly import assemble

_SHARED = ("attended", "batch", "reader")
_FRAMEWORK = ("assembly", "registry")


def sources(name: str, head: str | None = None) -> list[Path]:
    """The files whose code decides what a reader computes: its own, its parts', and what these import.

    Args:
        name: A name out of `coattend.readers.names`.
        head: None takes the reader's own.

    Raises:
        CoattendError: If there is no such reader, or it has no such head.
    """
    framework = {importlib.import_module(f"{__package__}.{part}") for part in _FRAMEWORK}
    known: set[ModuleType] = set()
    new = {sys.modules[part.__module__] for part in assemble(name, head, {}).classes}
    new |= {importlib.import_module(f"{__package__}.{shared}") for shared in _SHARED}
    while new:
        known |= new
        new = {imported for module in new for imported in _imports(module)} - known - framework
    return sorted({registry.file_of(name), *(Path(inspect.getfile(module)) for module in known)})


def _imports(module: ModuleType) -> Iterator[ModuleType]:
    """Modules of its own package, or of ours, whose classes and functions a module uses."""
    packages = (f"{__package__}.", f"{module.__package__ or module.__name__}.")
    for value in vars(module).values():
        origin = getattr(value, "__module__", None)
        if isinstance(origin, str) and origin.startswith(packages):
            yield sys.modules[origin]
