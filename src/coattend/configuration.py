"""What exists, read from files: benchmarks, readers and their text profiles."""

import os
from functools import cache
from pathlib import Path
from typing import Any

from kedro.utils import find_kedro_project
from pydantic import ValidationError

from coattend import environment, readers
from coattend.errors import CoattendError, did_you_mean
from coattend.parameters import BenchmarkParameters
from coattend.readers.registry import JOIN
from coattend.yaml_lines import BROKEN, loaded

_SOURCE_ROOT = Path(__file__).resolve().parents[2]
_PARAMETERS = Path("conf", "base", "parameters")


def project_folder() -> Path:
    """The Kedro project that the command runs in, or the checkout that this module lies in."""
    # Asked for thousands of times: making a path of the folder each time takes longer than all else here.
    return _project_of(os.getcwd())  # noqa: PTH109


@cache
def _project_of(folder: str) -> Path:
    return find_kedro_project(Path(folder)) or _SOURCE_ROOT


def benchmark_names() -> list[str]:
    """Benchmarks: the files of ``conf/base/parameters/benchmarks``."""
    return sorted(_entries("benchmarks"))


def benchmark_entry(name: str) -> dict[str, Any]:
    """A benchmark's parameters in the base environment.

    Raises:
        CoattendError: If there is no such benchmark.
    """
    return _entry("benchmarks", name)


def answerable_tasks(name: str) -> tuple[str, ...]:
    """The tasks of the heads that can answer a benchmark's questions.

    Raises:
        CoattendError: If there is no such benchmark, or its file does not say what it asks for.
    """
    return benchmark(name).answerable


def benchmark(name: str) -> BenchmarkParameters:
    """A benchmark as the base environment has it.

    Raises:
        CoattendError: If there is no such benchmark, or its file is wrong.
    """
    return _benchmark(project_folder(), name)


@cache
def _benchmark(_project: Path, name: str) -> BenchmarkParameters:
    try:
        return BenchmarkParameters.model_validate({**benchmark_entry(name), "name": name})
    except ValidationError as error:
        first = error.errors()[0]
        where = f"conf/base/parameters/benchmarks/{name}.yml, {'.'.join(map(str, first['loc']))}"
        raise CoattendError(first["msg"], where=where, cure="The fields are in coattend/parameters") from None


def reader_names() -> list[str]:
    """Readers: the registry's, and the files of ``conf/base/parameters/readers``."""
    return sorted({*readers.names(), *_entries("readers")})


def reader_entry(name: str) -> dict[str, Any]:
    """A reader's parameters in the base environment, completed with its names and wired as the chosen one wires it.

    A reader that is called by its parts, such as ``transformer+coattention``, needs no file.

    Raises:
        CoattendError: If there is no such reader, or no such part.
    """
    check_reader(name)
    changed = environment.of_reader(name)
    if "encoder" in changed:
        encoder_entry(changed["encoder"], where=f"readers.{name}.encoder of the environment")
    return complete_reader(name, _entries("readers").get(name)) | changed


def check_reader(name: str) -> None:
    """Refuse the name of a reader that is neither there nor made of parts that are.

    Raises:
        CoattendError: With the nearest right name.
    """
    if name in _entries("readers") or name in readers.names():
        return
    if JOIN not in name:
        raise CoattendError(f"there is no reader {name!r}", cure=did_you_mean(name, reader_names()))
    readers.heads_of(name)


def tagging_names() -> list[str]:
    """The profiles of ``taggings`` in the base environment."""
    return sorted(_within("text.yml", "taggings"))


def encoder_entry(name: str, *, where: str | None = None) -> dict[str, Any]:
    """An encoder's parameters in the base environment.

    Args:
        name: Its name.
        where: Who asks for it; None: the file of encoders.

    Raises:
        CoattendError: If there is no such encoder.
    """
    known = _within("encoders.yml", "encoders")
    if name not in known:
        cure = did_you_mean(name, list(known))
        file = project_folder() / _PARAMETERS / "encoders.yml"
        raise CoattendError(f"no encoder is called {name!r}", where=where or str(file), cure=cure)
    return known[name]


def _within(file: str, key: str) -> dict[str, Any]:
    """What stands under a key of a file of the base environment's parameters."""
    return _read_once(project_folder() / _PARAMETERS / file)[key]


@cache
def _read_once(path: Path) -> Any:
    return _read_yaml(path)


def complete_reader(name: str, entry: dict[str, Any] | None) -> dict[str, Any]:
    """Add the names that an entry may leave out."""
    return {"name": name, "reader": name} | (entry or {})


def _entry(kind: str, name: str) -> dict[str, Any]:
    entries = _entries(kind)
    if name not in entries:
        raise CoattendError(f"no {kind[:-1]} is called {name!r}", cure=did_you_mean(name, list(entries)))
    return entries[name] or {}


def _entries(kind: str) -> dict[str, Any]:
    return _read_entries(project_folder(), kind)


def _read_yaml(path: Path) -> Any:
    try:
        return loaded(path) or {}
    except BROKEN as error:
        problem = " ".join(str(error).split())
        raise CoattendError(f"is not YAML ({problem})", where=str(path), cure="Mend the file") from None


@cache
def _read_entries(project: Path, kind: str) -> dict[str, Any]:
    entries: dict[str, Any] = {}
    for path in sorted((project / _PARAMETERS / kind).glob("*.yml")):
        content = _read_yaml(path)
        if not isinstance(content, dict) or list(content) != [kind] or path.stem not in (content[kind] or {}):
            raise CoattendError(
                f"must hold one key {kind!r} with an entry {path.stem!r}", where=str(path), cure="Name it as its file"
            )
        entries |= content[kind]
    return entries
