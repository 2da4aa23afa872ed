"""The public Python names, and which of them lack a docstring or a place in the reference.

Sources are parsed and not imported, so that the website needs neither torch nor MLflow.
"""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

SOURCES = Path(__file__).parents[2] / "src"

PUBLIC_MODULES = (
    "coattend.readers",
    "coattend.readers.reader",
    "coattend.readers.batch",
    "coattend.readers.windows",
    "coattend.readers.interfaces",
    "coattend.serving.predictor",
    "coattend.serving.queries",
    "coattend.evaluation.squad",
    "coattend.data.formats.base",
    "coattend.errors",
)
"""Modules for users. Public are the names of ``__all__``; without it, classes and functions that begin with no
underscore. Parameters have a page of their own."""

Definition = ast.ClassDef | ast.FunctionDef


def public_names() -> list[str]:
    """List the public names, each behind the module that users import it from."""
    return [f"{module}.{name}" for module in PUBLIC_MODULES for name in _names_of(module)]


def undocumented_names() -> list[str]:
    """List the public names, with the public methods of classes, that have no docstring."""
    return [
        full_name
        for module in PUBLIC_MODULES
        for name in _names_of(module)
        for full_name, node in _with_methods(f"{module}.{name}", _definition(module, name))
        if not ast.get_docstring(node)
    ]


def missing_names(pages: str) -> list[str]:
    """List the public names that have no entry on some pages.

    Args:
        pages: The pages' HTML.
    """
    return [name for name in public_names() if f'id="{name}"' not in pages]


@cache
def _tree(module: str) -> ast.Module:
    path = SOURCES.joinpath(*module.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return ast.parse(file.read_text(encoding="utf-8"))


def _names_of(module: str) -> list[str]:
    body = _tree(module).body
    for node in body:
        if isinstance(node, ast.Assign) and [target.id for target in node.targets if isinstance(target, ast.Name)] == [
            "__all__"
        ]:
            return list(ast.literal_eval(node.value))
    return [node.name for node in body if isinstance(node, Definition) and not node.name.startswith("_")]


def _definition(module: str, name: str) -> Definition:
    """Find the definition of a name, in another module if it is imported."""
    for node in _tree(module).body:
        if isinstance(node, Definition) and node.name == name:
            return node
        if isinstance(node, ast.ImportFrom) and node.module and name in {alias.name for alias in node.names}:
            return _definition(node.module, name)
    raise LookupError(f"{module} defines no {name}")


def _with_methods(full_name: str, node: Definition) -> Iterator[tuple[str, Definition]]:
    yield full_name, node
    if isinstance(node, ast.ClassDef):
        for method in node.body:
            if isinstance(method, ast.FunctionDef) and not method.name.startswith("_"):
                yield f"{full_name}.{method.name}", method
