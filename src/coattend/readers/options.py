"""Options of readers, known from files alone."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from coattend.errors import CoattendError
from coattend.readers import declared, registry
from coattend.readers.declared_config import config
from coattend.readers.parts import PartConfig


def option_names(name: str) -> list[str]:
    """Names of the options that a reader has with one of its heads.

    Raises:
        CoattendError: If there is no such reader.
    """
    return sorted(_owners(name))


@cache
def _owners(name: str) -> dict[str, type[PartConfig]]:
    """A reader's options, each with those of the part that it belongs to."""
    parts = [config(file) for file in registry.part_files(name, registry.heads_of(name))]
    return {option: part for part in parts for option in part.model_fields}


def default_of(name: str, option: str) -> Any:
    """What a reader's declaration sets an option to; None where it leaves it to its part, or computes it.

    Raises:
        CoattendError: If there is no such reader.
    """
    file = registry.file_of(name)
    try:
        return (declared.keyword(file, "READER", "defaults") or {}).get(option)
    except CoattendError:
        return None


def check_option(name: str, option: str, value: Any) -> None:
    """Refuse a value that an option of a reader cannot have, as far as its part has written out what it can.

    Raises:
        CoattendError: If there is no such reader.
        KeyError: If it has no such option.
        ValidationError: If it cannot have this value.
    """
    _owners(name)[option].model_validate({option: value})


def completed(name: str, head: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """A reader's options with one of its heads, those included that are not given: as `resolve` has them, unbuilt.

    A default that a part computes is None.

    Raises:
        CoattendError: If there is no such reader, or its declaration computes the options that it sets.
        ValidationError: If an option cannot have its value.
    """
    given = {**(declared.keyword(registry.file_of(name), "READER", "defaults") or {}), **options}
    parts = [config(file) for file in registry.part_files(name, (head,))]
    own = [part.model_validate({key: given[key] for key in part.model_fields if key in given}) for part in parts]
    return {option: value for part in own for option, value in part}
