"""Tables of parameters: name, type, default and sentence of every field of a model."""

from collections.abc import Iterator, Mapping
from enum import Enum
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from docs._tools.markdown import table, yaml_value
from docs._tools.reader_facts import LIMITS
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from coattend import config
from coattend.config import Parameters
from coattend.config.benchmark import DownloadParameters
from coattend.config.reader import FineTuningParameters, UntrainedParameters
from coattend.config.study import (
    CitedParameters,
    ExampleParameters,
    PaperParameters,
    PrintedParameters,
    VariantParameters,
)
from coattend.errors import CoattendError, did_you_mean

NAMES = {bool: "`true`, `false`", int: "whole number", float: "number", str: "text", NoneType: "null"}


def models() -> dict[str, type[Parameters]]:
    """Map the names of all models of parameters to the models."""
    exported = [getattr(config, name) for name in config.__all__]
    unexported = [
        DownloadParameters,
        CitedParameters,
        ExampleParameters,
        FineTuningParameters,
        PaperParameters,
        PrintedParameters,
        UntrainedParameters,
        VariantParameters,
    ]
    exported_models = [model for model in exported if isinstance(model, type) and model is not Parameters]
    return {model.__name__: model for model in [*exported_models, *unexported]}


def parameter_table(name: str) -> str:
    """Write the table of a model's parameters.

    Args:
        name: Name of the model, such as ``TrainingParameters``.

    Raises:
        CoattendError: If there is no such model, or a field has no sentence.
    """
    classes = models()
    if name not in classes:
        cure = did_you_mean(name, list(classes))
        raise CoattendError(f"there is no model {name!r}", where="documentation", cure=cure)
    return table(("parameter", "type", "default", "what it is"), _rows(classes[name]))


def _rows(model: type[BaseModel]) -> Iterator[tuple[str, ...]]:
    for name, field in model.model_fields.items():
        if not field.description:
            raise CoattendError(
                f"{model.__name__}.{name} has no sentence", where="documentation", cure="Give it a description."
            )
        yield f"`{name}`", _type_of(field), _default_of(field), field.description


def _type_of(field: FieldInfo) -> str:
    bounds = " and ".join(filter(None, map(_bounds, field.metadata)))
    type_name, separator, null = format_type(field.annotation).partition(" or null")
    return f"{type_name} {bounds}".strip() + ("," if bounds and separator else "") + separator + null


def _bounds(constraint: Any) -> str:
    return " and ".join(f"{sign} {getattr(constraint, name):g}" for name, sign in LIMITS if hasattr(constraint, name))


def format_type(annotation: Any) -> str:
    """Name a type as somebody who writes YAML would."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return format_type(arguments[0])
    if origin is Literal:
        return ", ".join(f"`{yaml_value(value)}`" for value in arguments)
    if origin in (Union, UnionType):
        return " or ".join(dict.fromkeys(map(format_type, arguments)))
    if origin in (tuple, list):
        return f"list of {_plural(arguments[0])}"
    if origin in (dict, Mapping):
        return f"mapping to {_plural(arguments[1])}" if arguments[1] is not Any else "mapping"
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return f"[{annotation.__name__}](#{annotation.__name__.lower()})"
    return NAMES.get(annotation, "any value")


def _plural(annotation: Any) -> str:
    """Name the type of a list's members."""
    if get_origin(annotation) is Annotated:
        return _plural(get_args(annotation)[0])
    plurals = {int: "whole numbers", float: "numbers", str: "texts"}
    return plurals.get(annotation) or format_type(annotation)


def _default_of(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    if isinstance(value, BaseModel):
        return "its own"
    if isinstance(value, Enum):
        value = value.value
    if isinstance(value, tuple | list):
        return f"`[{', '.join(map(yaml_value, value))}]`"
    if isinstance(value, Mapping):
        inside = ", ".join(f"{key}: {yaml_value(member)}" for key, member in value.items())
        return f"`{{{inside}}}`"
    return f"`{yaml_value(value)}`" if value != "" else '`""`'
