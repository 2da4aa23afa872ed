"""What Kedro's check of parameters says in several lines, in one."""

import re
from typing import Any

from pydantic import BaseModel

from coattend import parameters
from coattend.errors import CoattendError, did_you_mean

_BLOCK = re.compile(
    r"parameter '(?P<block>[^']+)': \d+ validation errors? for (?P<model>\w+)\n(?P<errors>.*)", re.DOTALL
)
_ERROR = re.compile(r"^(?P<path>\S+)\n {2}(?P<what>.+) \[type=(?P<type>\w+), ", re.MULTILINE)
_UNKNOWN = "extra_forbidden"


def told(error: Exception) -> CoattendError:
    """The first parameter that is refused, where it stands, and the nearest name where there is none of its own.

    Args:
        error: Kedro's, with what pydantic said in its text.
    """
    block = _BLOCK.search(str(error))
    found = _ERROR.search(block["errors"]) if block else None
    if block is None or found is None:
        return CoattendError(str(error), cure="The fields of each block are in coattend/parameters")
    where = f"{block['block']}.{found['path']}"
    if found["type"] != _UNKNOWN:
        return CoattendError(found["what"].removeprefix("Value error, "), where=where)
    *path, name = found["path"].split(".")
    cure = did_you_mean(name, _fields(getattr(parameters, block["model"], None), path))
    return CoattendError("there is no such parameter", where=where, cure=cure)


def _fields(model: Any, path: list[str]) -> list[str]:
    """Names of the fields at a path of a model, as far as its blocks are models themselves."""
    for name in path:
        field = model.model_fields.get(name) if _is_model(model) else None
        model = field.annotation if field else None
    return list(model.model_fields) if _is_model(model) else []


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)
