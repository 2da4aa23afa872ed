"""The code that decides what a reader computes: its files, and a digest of them for the id of its trials."""

import ast
import hashlib
import importlib
import inspect
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from types import ModuleType

from coattend.readers import registry
from coattend.readers.composition import Composition, compose

_SHARED = ("interfaces", "batch", "reader")
"""Modules that every reader uses."""

_ZOO = f"{__package__}.zoo"

_FRAMEWORK = ("composition", "registry")
"""Modules that look readers up, and compute nothing."""


def sources(name: str, head: str | None = None) -> list[Path]:
    """List the files whose code decides what a reader computes: its parts', their options' and what these import."""
    composition = compose(name, head, {})
    modules = _modules(composition) | {_module_of(type(config)) for config in composition.configs}
    return sorted(Path(inspect.getfile(module)) for module in modules)


def code_digest(name: str, head: str | None = None) -> str:
    """Hash what the code of a reader does: comments, docstrings and layout do not count.

    Of a folder's ``configs.py`` only the classes of the reader's own parts count, and of the zoo nothing, as options
    are part of a trial's id anyway: a new part or a new named reader leaves trained trials as they are.
    """
    composition = compose(name, head, {})
    code = [(Path(inspect.getfile(module)).name, inspect.getsource(module)) for module in _modules(composition)]
    # The options of a part that is a file of its own are among its code already.
    for config in map(type, composition.configs):
        if _holds_configs(_module_of(config)):
            code.append((config.__name__, inspect.getsource(config)))
    digest = hashlib.sha256()
    for title, text in sorted(code):
        digest.update(f"{title}\n{_behaviour(text)}\n".encode())
    return digest.hexdigest()


def _modules(composition: Composition) -> set[ModuleType]:
    """Collect the modules of a reader's parts and what these import, without those that hold many parts' options."""
    framework = {importlib.import_module(f"{__package__}.{module}") for module in _FRAMEWORK}
    frontier = {_module_of(part) for part in composition.classes}
    frontier |= {importlib.import_module(f"{__package__}.{module}") for module in _SHARED}
    frontier |= {importlib.import_module(registry.module_of(composition.reader))}
    collected: set[ModuleType] = set()
    # Follow imports within the package, breadth first.
    while frontier:
        collected |= frontier
        frontier = {imported for module in frontier for imported in _imports(module)} - collected - framework
    return {module for module in collected if not _holds_configs(module) and module.__name__ != _ZOO}


def _module_of(part: type) -> ModuleType:
    return sys.modules[part.__module__]


def _holds_configs(module: ModuleType) -> bool:
    return module.__name__.startswith(f"{__package__}.") and module.__name__.endswith(".configs")


def _imports(module: ModuleType) -> Iterator[ModuleType]:
    """Yield the modules of its own package, or of this one, whose classes and functions a module uses."""
    packages = (f"{__package__}.", f"{module.__package__ or module.__name__}.")
    for value in vars(module).values():
        origin = getattr(value, "__module__", None)
        if isinstance(origin, str) and origin.startswith(packages):
            yield sys.modules[origin]


@lru_cache(maxsize=1024)
def _behaviour(code: str) -> str:
    """Write code again without comments, docstrings and layout."""
    tree = ast.parse(code)
    for definition in ast.walk(tree):
        if isinstance(definition, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(definition):
            definition.body = definition.body[1:] or [ast.Pass()]
    return ast.unparse(tree)
