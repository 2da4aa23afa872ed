"""The class ``Config`` of a part, made from how it is written: its module may import torch, and is not run."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, create_model

from coattend.readers import declared
from coattend.readers.parts import PartConfig

_TYPES = {"bool": bool, "float": float, "int": int, "str": str}
_BOUNDS = ("ge", "gt", "le", "lt")
_BELOW = f"{__package__}."


@cache
def config(file: Path) -> type[PartConfig]:
    """The options of a module's part, with their types, bounds and defaults as far as these are written out.

    Where a type is none of `_TYPES`, of literals, or of names for those, anything may be given; a default that is
    computed is None here.

    Raises:
        CoattendError: If the file is no Python.
    """
    fields: dict[str, Any] = {ast.unparse(line.target): _field(file, line) for line in _lines(file)}
    return create_model("Config", __base__=PartConfig, **fields)


def _lines(file: Path) -> Iterator[ast.AnnAssign]:
    parts = [one for one in declared.parsed(file).body if isinstance(one, ast.ClassDef)]
    configs = [one for part in parts for one in part.body if isinstance(one, ast.ClassDef) and one.name == "Config"]
    for line in (line for one in configs for line in one.body):
        if isinstance(line, ast.AnnAssign) and not ast.unparse(line.annotation).startswith("ClassVar"):
            yield line


def _field(file: Path, line: ast.AnnAssign) -> tuple[Any, Any]:
    """A field's type, and its default with its bounds."""
    kind, value = _type(file, line.annotation), line.value
    if not (isinstance(value, ast.Call) and ast.unparse(value.func) == "Field"):
        return kind, Field(_literal(value))
    given = {one.arg: one.value for one in value.keywords}
    bounds = {} if kind is Any else {name: _literal(given[name]) for name in _BOUNDS if name in given}
    return kind, Field(_literal(value.args[0] if value.args else given.get("default")), **bounds)


def _literal(value: ast.expr | None) -> Any:
    """What is written out, or None."""
    try:
        return None if value is None else ast.literal_eval(value)
    except (TypeError, ValueError):
        return None


def _type(file: Path, written: ast.expr | None) -> Any:
    """The type that an annotation stands for, or Any."""
    match written:
        case ast.Constant(value=None):
            return None
        case ast.Name(id=name):
            return _TYPES.get(name) or _named(file, name)
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            one, other = _type(file, left), _type(file, right)
            return Any if Any in (one, other) else one | other
        case ast.Subscript(value=ast.Name(id="Literal"), slice=choices) if (known := _literal(choices)) is not None:
            return Literal[known]
    return Any


def _named(file: Path, name: str) -> Any:
    """The type that a module has a name for: its own, or one that it imports from a module below this folder."""
    for line in declared.parsed(file).body:
        if isinstance(line, ast.ImportFrom) and (line.module or "").startswith(_BELOW):
            origin = next((one.name for one in line.names if name == (one.asname or one.name)), None)
            if origin is not None:
                path = (line.module or "").removeprefix(_BELOW).replace(".", "/")
                beside = Path(__file__).parent / f"{path}.py"
                return _type(beside, declared.assigned(beside, origin))
    return _type(file, declared.assigned(file, name))
