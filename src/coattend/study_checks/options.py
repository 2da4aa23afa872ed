"""The options of a study's readers."""

from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError

from coattend import readers
from coattend.parameters import ReaderParameters
from coattend.study import Study
from coattend.study_checks.problem import Problem, refused, unknown


def of_options(study: Study, variant: str, entry: ReaderParameters) -> Iterator[Problem]:
    """Options that a variant's reader does not have, or that cannot have such a value."""
    known = readers.option_names(entry.reader)
    for option, value in entry.options.items():
        path = _place(study, variant, option)
        if option not in known:
            yield from unknown(path, option, known, f"option of {entry.reader}")
        else:
            yield from _of_value(path, entry.reader, option, value)


def _of_value(path: tuple[Any, ...], reader: str, option: str, value: Any) -> Iterator[Problem]:
    try:
        readers.check_option(reader, option, value)
    except ValidationError as error:
        yield refused(path, option, value, error)


def _place(study: Study, variant: str, option: str) -> tuple[Any, ...]:
    """Where a study says what an option of a variant is, the last word first."""
    asked = study.parameters
    if option in asked.options:
        return "options", option
    if option in asked.base and option not in asked.variants[variant].change:
        return "base", option
    return "variants", variant, "change", option
