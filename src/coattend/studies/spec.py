"""Read and validate the files of the folder ``studies`` of the base environment. A file is a paper, an entry of its
``studies`` a table or figure: ``duma.yml`` with ``table7`` is ``duma_table7``. Nothing here imports torch."""

import re
from collections import UserDict
from collections.abc import Mapping
from functools import cache
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from coattend.config import BenchmarkParameters, ReaderParameters, entries
from coattend.config.parameters import UNKNOWN_FIELD, check_parameters, field_names
from coattend.config.source import BASE, current, files
from coattend.config.study import PaperParameters, StudyParameters
from coattend.config.yaml import Lines, TextFile
from coattend.errors import CoattendError, did_you_mean
from coattend.studies.study import Study
from coattend.studies.validation import check_frozen, find_problems
from coattend.studies.value_checks import nearest_choice

_NAME = re.compile(r"[A-Za-z0-9_]+")
PREFIX = "study_"
"""Prefix of the names of studies' pipelines."""

Checked = TypeVar("Checked", bound=BaseModel)


def study_names() -> list[str]:
    """Return the names of all studies, sorted."""
    return sorted(_studies(current().location))


def study_groups() -> dict[str, list[str]]:
    """Group the studies of a file by the words that their names share, such as ``aoa_results`` for three benchmarks."""
    by_prefix: dict[str, list[str]] = {}
    for name in study_names():
        stem = f"{load_study(name).file.stem}_"
        words = name.removeprefix(stem).split("_")
        # Any first words of a name, but not all of them, may name a group.
        for count in range(1, len(words)):
            by_prefix.setdefault(stem + "_".join(words[:count]), []).append(name)
    # Of two names for the same studies the shorter one is enough, and a study's own name is its own.
    distinct = {tuple(members): name for name, members in reversed(by_prefix.items()) if len(members) > 1}
    return {name: list(members) for members, name in distinct.items() if name not in _studies(current().location)}


def load_study(name: str) -> Study:
    """Return a study by name; CoattendError if there is none, or a file of studies is wrong, with its line."""
    studies = _studies(current().location)
    if name not in studies:
        raise CoattendError(f"no study is called {name!r}", cure=did_you_mean(name, list(studies)))
    return studies[name]


class StudyBlock(UserDict[str, Any]):
    """A block of a study's parameters, which Kedro takes as one value: it registers a dataset for every key of nested
    dictionaries, and the keys of all studies, ten thousand, would cost every run a second."""

    def __deepcopy__(self, memo: dict[int, Any]) -> "StudyBlock":
        return self  # Nothing changes it.


def study_parameters(
    changes: Mapping[str, Any], readers: Mapping[str, Any], benchmarks: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    """Return the parameters of every study: the study itself, its variants as readers' entries, and its benchmarks.

    These are the entries of ``readers`` and ``benchmarks`` with what the study differs in and the environment changes.
    """
    blocks = {}
    for name in study_names():
        study = load_study(name).changed(changes.get(name) or {})
        # With the changes its variants must still be comparable.
        for problem in check_frozen(study) if changes.get(name) else ():
            raise CoattendError(problem.what, where=f"studies.{name}", cure=problem.cure)
        variants = {variant: StudyBlock(study.entry(variant, readers)) for variant in study.parameters.variants}
        read = {benchmark: StudyBlock(study.benchmark(benchmark, benchmarks[benchmark])) for benchmark in study.read}
        if changes.get(name):
            for variant, entry in variants.items():
                check_parameters(entry, ReaderParameters, block=f"studies.{name}.variants.{variant}")
            for benchmark, entry in read.items():
                check_parameters(entry, BenchmarkParameters, block=f"studies.{name}.benchmarks.{benchmark}")
        blocks[name] = {"about": StudyBlock(study.dumped), "variants": variants, "benchmarks": read}
    return blocks


def forget_studies() -> None:
    """Clear the cache, since files have changed."""
    _studies.cache_clear()


@cache
def _studies(location: str) -> dict[str, Study]:
    entries.reader_names()  # A mistake in a file of readers is none of a study that starts from one of them.
    return {study.name: study for file in files(location, BASE, "studies") for study in read_studies(file)}


def read_studies(file: TextFile) -> list[Study]:
    """Read the studies of a file; a mistake is reported with file, line and the nearest name."""
    lines = Lines.of(file)
    content, cure = lines.content, "See the files beside it"
    if not isinstance(content, dict) or set(content) != {"paper", "studies"} or not content["studies"]:
        raise CoattendError("must hold the keys 'paper' and 'studies'", where=str(file), cure=cure)
    if not isinstance(content["studies"], dict):
        raise CoattendError("must be a mapping of names to studies", where=lines.where(("studies",)), cure=cure)
    paper = _validate(PaperParameters, content["paper"], lines, ("paper",))
    studies = []
    for name, entry in content["studies"].items():
        path = ("studies", name)
        if not _NAME.fullmatch(str(name)):
            what = f"{name!r} is no name of a study: it names files and pipelines"
            raise CoattendError(what, where=lines.where(path), cure="Take letters, digits and _")
        parameters = _validate(StudyParameters, entry, lines, path)
        study = Study(paper, parameters.model_copy(update={"name": f"{file.stem}_{name}"}), file)
        for problem in find_problems(study):
            raise CoattendError(problem.what, where=lines.where((*path, *problem.path)), cure=problem.cure)
        studies.append(study)
    return studies


def _validate(model: type[Checked], content: Any, lines: Lines, path: tuple[Any, ...]) -> Checked:
    try:
        return model.model_validate(content)
    except ValidationError as error:
        # A misspelt field is a missing one too, and says more.
        first = min(error.errors(), key=lambda candidate: candidate["type"] != UNKNOWN_FIELD)
        cure = nearest_choice(first)
        if first["type"] == UNKNOWN_FIELD:
            cure = did_you_mean(str(first["loc"][-1]), field_names(model, first["loc"][:-1]))
        message = first["msg"].removeprefix("Value error, ")
        raise CoattendError(message, where=lines.where((*path, *first["loc"])), cure=cure) from None
