"""Studies: the files of ``conf/base/studies``, checked when they are read.

A file is a paper, an entry of its ``studies`` a table or figure: ``duma.yml`` with ``table7`` is ``duma_table7``.
Nothing here imports torch.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from coattend import configuration, readers
from coattend.errors import CoattendError, did_you_mean
from coattend.parameters import ReaderParameters, TrainingParameters
from coattend.parameters.study import (
    CitedParameters,
    ExampleParameters,
    PaperParameters,
    PrintedParameters,
    StudyParameters,
    VariantParameters,
)
from coattend.yaml_lines import Lines

PREFIX = "study_"
"""What the names of studies' pipelines begin with."""

_INNER: dict[Any, type[BaseModel]] = {
    "variants": VariantParameters,
    "printed": PrintedParameters,
    "cited": CitedParameters,
    "examples": ExampleParameters,
}
_VALUES = ("seeds", "protocol", "budget_hours")
"""What an environment may change in a study."""

Checked = TypeVar("Checked", bound=BaseModel)


@dataclass(frozen=True)
class Study:
    """A study and where it stands.

    Attributes:
        name: File and entry, such as ``duma_table7``.
        paper: What it comes from.
        parameters: What it asks.
        file: Its file.
    """

    name: str
    paper: PaperParameters
    parameters: StudyParameters
    file: Path

    def changed(self, values: Mapping[str, Any]) -> "Study":
        """The study with other values for some fields; its shape stays as its file has it.

        Raises:
            CoattendError: If there is no such field, or it decides the study's shape.
        """
        for field in values:
            if field not in _VALUES:
                cure = f"Environments change values only: {', '.join(_VALUES)}"
                raise CoattendError("cannot be changed here", where=f"studies.{self.name}.{field}", cure=cure)
        asked = {**self.parameters.model_dump(mode="json"), **values}
        try:
            return replace(self, parameters=StudyParameters.model_validate(asked))
        except ValidationError as error:
            where = f"studies.{self.name}"
            raise CoattendError(error.errors()[0]["msg"].removeprefix("Value error, "), where=where) from None

    def starts_from(self, variant: str) -> str | None:
        """The variant with whose trials those of another begin."""
        return self.parameters.variants[variant].change.get("training", {}).get("start_from")

    def also(self, variant: str, benchmark: str) -> list[str]:
        """Other benchmarks that a variant is trained on."""
        return [name for name in self.entry(variant)["training"].get("train_on", {}) if name != benchmark]

    def entry(self, variant: str, known: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """A variant as the entry of a reader.

        Args:
            variant: Its name.
            known: Readers' entries that it starts from; None: those of the base environment.
        """
        base, change = self.parameters.base, self.parameters.variants[variant].change
        reader = change.get("reader", base["reader"])
        start = configuration.reader_entry(reader) if known is None else known[reader]
        own = base if reader == base["reader"] else {}
        training = start.get("training", {}) | base.get("training", {}) | change.get("training", {})
        training.pop("start_from", None)  # A variant's trials are found when they are there.
        seeds: dict[str, Any] = {"seeds": list(self.parameters.seeds)}
        if self.parameters.protocol == "frozen":
            seeds["frozen"] = True
        named = {"name": variant, "reader": start["reader"], "benchmarks": None}
        return {**start, **own, **change, **named, "training": seeds | training}


def study_names() -> list[str]:
    """Names of all studies, sorted."""
    return sorted(_studies(_folder()))


def study(name: str) -> Study:
    """A study.

    Raises:
        CoattendError: If there is none of this name, or a file of studies is wrong: with its line.
    """
    known = _studies(_folder())
    if name not in known:
        raise CoattendError(f"no study is called {name!r}", cure=did_you_mean(name, list(known)))
    return known[name]


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
    if not isinstance(content, dict) or set(content) != {"paper", "studies"} or not content["studies"]:
        raise CoattendError("must hold the keys 'paper' and 'studies'", where=str(file), cure="See the files beside it")
    paper = _checked(PaperParameters, content["paper"], lines, ("paper",))
    found = []
    for name, entry in content["studies"].items():
        parameters = _checked(StudyParameters, entry, lines, ("studies", name))
        parameters = parameters.model_copy(update={"name": f"{file.stem}_{name}"})
        one = Study(parameters.name, paper, parameters, file)
        for path, problem in _problems(one):
            raise CoattendError(problem.problem, where=lines.where(("studies", name, *path)), cure=problem.cure)
        found.append(one)
    return found


def _checked(kind: type[Checked], content: Any, lines: Lines, path: tuple[Any, ...]) -> Checked:
    try:
        return kind.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        field = str(first["loc"][-1]) if first["loc"] else ""
        inner = _INNER.get(first["loc"][0], kind) if len(first["loc"]) > 1 else kind
        cure = did_you_mean(field, list(inner.model_fields)) if first["type"] == "extra_forbidden" else None
        message = first["msg"].removeprefix("Value error, ")
        raise CoattendError(message, where=lines.where((*path, *first["loc"])), cure=cure) from None


def _problems(study: Study) -> Iterator[tuple[tuple[Any, ...], CoattendError]]:
    """What is wrong with the names that a study uses, and where in its entry."""
    asked = study.parameters
    for place, benchmark in enumerate(asked.benchmarks):
        if benchmark not in configuration.benchmark_names():
            cure = did_you_mean(benchmark, configuration.benchmark_names())
            yield ("benchmarks", place), CoattendError(f"no benchmark is called {benchmark!r}", cure=cure)
            return
    for name in asked.variants:
        path = ("variants", name, "change")
        try:
            _check_variant(study, name)
        except CoattendError as error:
            yield path, error
        same_as = asked.baseline_of(name)
        if name != same_as and _same(study, name, same_as):
            yield path, CoattendError(f"{name!r} is what its baseline {same_as!r} is", cure="Change something in it")


def _check_variant(study: Study, variant: str) -> None:
    base, change = study.parameters.base, study.parameters.variants[variant].change
    reader = change.get("reader", base.get("reader"))
    if reader not in configuration.reader_names():
        raise CoattendError(
            f"no reader is called {reader!r}", cure=did_you_mean(str(reader), configuration.reader_names())
        )
    entry = ReaderParameters.model_validate(study.entry(variant))
    for benchmark in study.parameters.benchmarks_of(variant):
        readers.head_for(entry.reader, configuration.answerable_tasks(benchmark), entry.head)
    configuration.encoder_entry(entry.encoder)
    known = readers.option_names(entry.reader)
    for option in entry.options:
        if option not in known:
            raise CoattendError(
                f"the reader {entry.reader!r} has no option {option!r}", cure=did_you_mean(option, known)
            )
    start = study.starts_from(variant)
    if start is not None and start not in study.parameters.variants:
        known = list(study.parameters.variants)
        raise CoattendError(f"starts from {start!r}, which is no variant here", cure=did_you_mean(start, known))
    for field in entry.training:
        if field not in TrainingParameters.model_fields:
            cure = did_you_mean(field, list(TrainingParameters.model_fields))
            raise CoattendError(f"training has no {field!r}", cure=cure)


def _same(study: Study, variant: str, other: str) -> bool:
    asked = study.parameters
    mine, theirs = ({**study.entry(name), "name": study.starts_from(name)} for name in (variant, other))
    return mine == theirs and bool(set(asked.benchmarks_of(variant)) & set(asked.benchmarks_of(other)))
