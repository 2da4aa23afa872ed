"""Studies: the files of ``conf/base/studies``, checked when they are read.

A file is a paper, an entry of its ``studies`` a table or figure: ``duma.yml`` with ``table7`` is ``duma_table7``.
Nothing here imports torch.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from coattend import configuration
from coattend.errors import CoattendError, did_you_mean
from coattend.parameters import SearchParameters, ValuesParameters
from coattend.parameters.study import (
    CitedParameters,
    ExampleParameters,
    PaperParameters,
    PrintedParameters,
    StudyParameters,
    VariantParameters,
)
from coattend.study import Study
from coattend.study_checks import nearest_choice, of_frozen, problems
from coattend.yaml_lines import Lines

_NAME = re.compile(r"[A-Za-z0-9_]+")
PREFIX = "study_"
"""What the names of studies' pipelines begin with."""

_run: ContextVar[frozenset[str] | None] = ContextVar("run", default=None)
"""The studies that are run; None: any may be."""

_INNER: dict[tuple[str, ...], type[BaseModel]] = {
    ("search", "space"): ValuesParameters,
    ("search",): SearchParameters,
    ("variants",): VariantParameters,
    ("printed",): PrintedParameters,
    ("cited",): CitedParameters,
    ("examples",): ExampleParameters,
}
"""What stands in a study's entries, the innermost first."""

Checked = TypeVar("Checked", bound=BaseModel)


def study_names() -> list[str]:
    """Names of all studies, sorted."""
    return sorted(_studies(_folder()))


def groups() -> dict[str, list[str]]:
    """Studies of one file whose names begin with the same words, by these: ``aoa_results`` are those of three sets."""
    found: dict[str, list[str]] = {}
    for name in study_names():
        stem = f"{study(name).file.stem}_"
        words = name.removeprefix(stem).split("_")
        for count in range(1, len(words)):
            found.setdefault(stem + "_".join(words[:count]), []).append(name)
    # Of two names for the same studies the shorter one is enough, and a study's own name is its own.
    different = {tuple(own): name for name, own in reversed(found.items()) if len(own) > 1}
    return {name: list(own) for own, name in different.items() if name not in _studies(_folder())}


def study(name: str) -> Study:
    """A study.

    Raises:
        CoattendError: If there is none of this name, or a file of studies is wrong: with its line.
    """
    known = _studies(_folder())
    if name not in known:
        raise CoattendError(f"no study is called {name!r}", cure=did_you_mean(name, list(known)))
    return known[name]


def changed(name: str, values: Mapping[str, Any]) -> Study:
    """A study with what an environment changes in it.

    Raises:
        CoattendError: As `study`, or if its variants can no longer be compared.
    """
    one = study(name).changed(values)
    for problem in of_frozen(one) if values else ():
        raise CoattendError(problem.what, where=f"studies.{name}", cure=problem.cure)
    return one


@contextmanager
def only(pipeline_names: Sequence[str]) -> Iterator[None]:
    """Say that no other studies are run than those among some pipelines, so that no other's parameters are needed."""
    names = [name.removeprefix(PREFIX) for name in pipeline_names if name.startswith(PREFIX)]
    together = groups() if names else {}
    token = _run.set(frozenset(one for name in names for one in together.get(name, (name,))))
    try:
        yield
    finally:
        _run.reset(token)


def is_run(name: str) -> bool:
    """Whether a study is run, as far as is known."""
    run = _run.get()
    return run is None or name in run


def forget() -> None:
    """Read the files anew when they are next asked for: they have changed."""
    _studies.cache_clear()


def _folder() -> Path:
    return configuration.project_folder() / "conf" / "base" / "studies"


@cache
def _studies(folder: Path) -> dict[str, Study]:
    return {one.name: one for file in sorted(folder.glob("*.yml")) for one in read(file)}


def read(file: Path) -> list[Study]:
    """The studies of a file.

    Raises:
        CoattendError: If it names what does not exist, or says something twice: with file, line and the nearest name.
    """
    lines = Lines.of(file)
    content = lines.content
    cure = "See the files beside it"
    if not isinstance(content, dict) or set(content) != {"paper", "studies"} or not content["studies"]:
        raise CoattendError("must hold the keys 'paper' and 'studies'", where=str(file), cure=cure)
    if not isinstance(content["studies"], dict):
        problem = "must be a mapping of names to studies"
        raise CoattendError(problem, where=lines.where(("studies",)), cure=cure)
    paper = _checked(PaperParameters, content["paper"], lines, ("paper",))
    found = []
    for name, entry in content["studies"].items():
        if not _NAME.fullmatch(str(name)):
            problem = f"{name!r} is no name of a study: it names files and pipelines"
            raise CoattendError(problem, where=lines.where(("studies", name)), cure="Take letters, digits and _")
        parameters = _checked(StudyParameters, entry, lines, ("studies", name))
        one = Study(paper, parameters.model_copy(update={"name": f"{file.stem}_{name}"}), file)
        for problem in problems(one):
            where = lines.where(("studies", name, *problem.path))
            raise CoattendError(problem.what, where=where, cure=problem.cure)
        found.append(one)
    return found


def _checked(kind: type[Checked], content: Any, lines: Lines, path: tuple[Any, ...]) -> Checked:
    try:
        return kind.model_validate(content)
    except ValidationError as error:
        # A misspelt field is a missing one too, and says more.
        first = min(error.errors(), key=lambda one: one["type"] != "extra_forbidden")
        field = str(first["loc"][-1]) if first["loc"] else ""
        above = first["loc"][:-1]
        inner = next((model for place, model in _INNER.items() if above[: len(place)] == place), kind)
        misspelt = first["type"] == "extra_forbidden"
        cure = did_you_mean(field, list(inner.model_fields)) if misspelt else nearest_choice(first)
        message = first["msg"].removeprefix("Value error, ")
        raise CoattendError(message, where=lines.where((*path, *first["loc"])), cure=cure) from None
