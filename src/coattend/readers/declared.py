"""What a module declares, read without running it: a module that defines a reader may import torch."""

import ast
from functools import cache
from pathlib import Path
from typing import Any

from coattend.errors import CoattendError


def constant(file: Path, name: str) -> Any:
    """The literal that a module assigns to a name, or None if it assigns none.

    Raises:
        CoattendError: If the file is no Python.
    """
    value = assigned(file, name)
    return None if value is None else ast.literal_eval(value)


def assigns(file: Path, name: str) -> bool:
    """Whether a module assigns anything to a name.

    Raises:
        CoattendError: If the file is no Python.
    """
    return assigned(file, name) is not None


@cache
def keyword(file: Path, name: str, argument: str) -> Any:
    """The literal given as a keyword of the call that a module assigns to a name, or None.

    Args:
        file: The module.
        name: For example ``READER`` in ``READER = NamedReader(heads=("options",))``.
        argument: For example ``heads``.

    Raises:
        CoattendError: If the file is no Python, or the argument is not written out.
    """
    call = assigned(file, name)
    for given in call.keywords if isinstance(call, ast.Call) else ():
        if given.arg == argument:
            try:
                return ast.literal_eval(given.value)
            except ValueError:
                raise CoattendError(
                    f"the argument {argument!r} of {name} is computed", where=str(file), cure="Write its value out"
                ) from None
    return None


def is_named(file: Path, name: str, argument: str) -> bool:
    """Whether a keyword of the call that a module assigns to a name is a name of that module, such as a class."""
    call = assigned(file, name)
    given = call.keywords if isinstance(call, ast.Call) else []
    return any(one.arg == argument and isinstance(one.value, ast.Name) for one in given)


@cache
def assigned(file: Path, name: str) -> ast.expr | None:
    """What a module assigns to a name, or None.

    Raises:
        CoattendError: If the file is no Python.
    """
    for statement in (one for one in parsed(file).body if isinstance(one, ast.Assign | ast.AnnAssign)):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            return statement.value
    return None


@cache
def parsed(file: Path) -> ast.Module:
    """A module as it is written.

    Raises:
        CoattendError: If the file is no Python.
    """
    try:
        return ast.parse(file.read_text(encoding="utf-8"))
    except (SyntaxError, UnicodeDecodeError) as error:
        raise CoattendError(f"is no Python: {error}", where=str(file)) from None
