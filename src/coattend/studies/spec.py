"""Read and validate the files of the folder ``studies`` of the base environment. A file is a paper, an entry of its
``studies`` a table or figure: ``duma.yml`` with ``table7`` is ``duma_table7``, and ``today.yml`` with ``today`` is
``today``. Nothing here imports torch."""

import re
from collections import UserDict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import chain
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from coattend.config import BenchmarkParameters, ReaderParameters, entries
from coattend.config.parameters import UNKNOWN_FIELD, check_parameters, field_names
from coattend.config.reader import Layer, training_layers
from coattend.config.source import BASE, BESIDE, base_environment, current, files
from coattend.config.study import PaperParameters, StudyParameters
from coattend.config.yaml import Lines, TextFile
from coattend.errors import CoattendError, did_you_mean, message_of
from coattend.readers.registry import encoder_of, is_trained
from coattend.studies.study import Study
from coattend.studies.validation import benchmarks_alike, check_frozen, check_variant, find_problems
from coattend.studies.value_checks import check_name, check_training, nearest_choice

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


def wired_study(name: str) -> Study:
    """Return a study with what the current environment changes in its nodes: encoders, and rows of language models."""
    source = current()
    return _changed(name, source.studies.get(name, {}), source.beside)


def _changed(name: str, values: Mapping[str, Any], models: Sequence[str]) -> Study:
    """Return a study with the values of an environment, and with the language models that it puts beside all studies:
    in studies whose questions none of them can answer they are no rows."""
    study = load_study(name)
    changed = _with_rows(study, study.changed(values), where=f"studies.{name}.{BESIDE}")
    return _with_rows(changed, changed.changed({BESIDE: models})) if models else changed


def _with_rows(before: Study, after: Study, *, where: str | None = None) -> Study:
    """Run the rows that a change has added on those benchmarks where they answer what the baseline does. Rows without
    any are left out, or refused if ``where`` says what names them."""
    rows, place = {}, where or f"study.{BESIDE}"
    for name in (name for name in after.parameters.variants if name not in before.parameters.variants):
        row = after.parameters.variants[name]
        try:
            benchmarks = tuple(benchmarks_alike(after, name))
        except CoattendError as error:
            raise CoattendError(error.problem, where=place, cure=error.cure) from None
        if benchmarks:
            rows[name] = row.model_copy(update={"benchmarks": benchmarks})
        elif where is not None:
            raise CoattendError(
                f"{row.title!r} chooses among options, and {after.parameters.baseline!r} answers other questions",
                where=where,
                cure="Name it in studies of options or of missing words",
            )
    variants = {name: row for name, row in after.parameters.variants.items() if name in before.parameters.variants}
    extended = replace(after, parameters=after.parameters.model_copy(update={"variants": variants | rows}))
    for name in rows:
        for mistake in check_variant(extended, name):
            raise CoattendError(mistake.what, where=place, cure=mistake.cure)
    return extended


def study_parameters(
    changes: Mapping[str, Any], readers: Mapping[str, Any], benchmarks: Mapping[str, Any], models: Sequence[str]
) -> dict[str, dict[str, Any]]:
    """Return the parameters of every study: the study itself, its variants as readers' entries, and its benchmarks.

    These are the entries of ``readers`` and ``benchmarks`` with what the study differs in and the environment changes.
    Language models of ``models`` are rows of every study of options or words.
    """
    blocks = {}
    for name in study_names():
        study = _changed(name, changes.get(name) or {}, models)
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
            _check_effect(study, changes[name], variants, read)
        blocks[name] = {"about": StudyBlock(study.dumped), "variants": variants, "benchmarks": read}
    return blocks


def _check_effect(
    study: Study, changed: Mapping[str, Any], variants: Mapping[str, Any], read: Mapping[str, Any]
) -> None:
    """Refuse a change that does nothing: it is of no benchmark, or the study's seeds overrule it, or for every variant
    the benchmark's blocks ``recurrent`` or ``frozen``."""
    training: Mapping[str, Any] = changed.get("training") or {}
    thresholds: Mapping[str, Any] = changed.get("thresholds") or {}
    # What a study's own file cannot say, an environment cannot either.
    problems = chain(
        # One block may serve several studies, so that some of its benchmarks are those of another.
        *(check_name(("training", name), name, entries.benchmark_names(), "benchmark") for name in training),
        *(check_name(("thresholds", name), name, study.parameters.benchmarks, "benchmark") for name in thresholds),
        *(check_training(("training", name), fields) for name, fields in training.items()),
    )
    for problem in problems:
        where = ".".join(("studies", study.name, *map(str, problem.path)))
        raise CoattendError(problem.what, where=where, cure=problem.cure)
    for benchmark in training.keys() & read.keys():
        about = BenchmarkParameters.model_validate(read[benchmark])
        blocks = [
            _block_of_kind(about, ReaderParameters.model_validate(entry))
            for name, entry in variants.items()
            if benchmark in study.parameters.benchmarks_of(name) and is_trained(entry["reader"])
        ]
        for field in sorted(training[benchmark]):
            if blocks and all(field in block.values for block in blocks):
                counting = " and ".join(sorted({f"{block.block}.{field}" for block in blocks}))
                where = f"studies.{study.name}.training.{benchmark}.{field}"
                cure = f"Change {counting}, which counts more"
                raise CoattendError("is overruled for every variant", where=where, cure=cure)


def _block_of_kind(benchmark: BenchmarkParameters, reader: ReaderParameters) -> Layer:
    """The differences from a benchmark's training for readers of a kind, which count more; empty for other readers."""
    kinds = {f"benchmarks.{benchmark.name}.{kind}" for kind in ("recurrent", "frozen")}
    layers = training_layers(benchmark, reader, recurrent=encoder_of(reader.reader) == "recurrent")
    return next((layer for layer in layers if layer.block in kinds), Layer("", {}))


def forget_studies() -> None:
    """Clear the cache, since files have changed."""
    _studies.cache_clear()


@cache
def _studies(location: str) -> dict[str, Study]:
    entries.reader_names()  # A mistake in a file of readers is none of a study that starts from one of them.
    with base_environment():
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
        full_name = name if name == file.stem else f"{file.stem}_{name}"
        study = Study(paper, parameters.model_copy(update={"name": full_name}), file)
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
        raise CoattendError(message_of(first), where=lines.where((*path, *first["loc"])), cure=cure) from None
