"""Benchmarks, readers and profiles of the base environment, which pipelines are built from.

They are read as plain YAML: Kedro's own loader resolves them for a run, and cannot be made before there is one without
taking over the globals of its process.
"""

from functools import cache
from typing import Any, NamedTuple

from pydantic import ValidationError

from coattend import readers
from coattend.config.benchmark import BenchmarkParameters
from coattend.config.reader import EncoderParameters, ReaderParameters
from coattend.config.source import BASE, current, files
from coattend.config.yaml import load_yaml
from coattend.errors import CoattendError, did_you_mean
from coattend.readers.registry import JOIN

Entry = dict[str, Any]


class TextProfiles(NamedTuple):
    """The profiles that decide which tables of texts a reader reads.

    Attributes:
        tagging: Tagging profile of its tags.
        encoder: Its encoder.
        tokenizer: Tokenizer profile of its tokens.
        reads_words: True if it reads the tagging stage's words, and subwords at most besides.
    """

    tagging: str
    encoder: str
    tokenizer: str
    reads_words: bool


def benchmark_names() -> list[str]:
    """Names of all benchmarks: the files of ``parameters/benchmarks``."""
    return sorted(_entries("benchmarks"))


def benchmark_entry(name: str) -> Entry:
    """Look up a benchmark's parameters as its file has them.

    Raises:
        CoattendError: If there is no such benchmark.
    """
    entries = _entries("benchmarks")
    if name not in entries:
        raise CoattendError(f"no benchmark is called {name!r}", cure=did_you_mean(name, list(entries)))
    return entries[name] or {}


def benchmark(name: str) -> BenchmarkParameters:
    """Look up a benchmark.

    Raises:
        CoattendError: If there is no such benchmark, or its file is wrong.
    """
    return _benchmark(current().location, name)


@cache
def _benchmark(location: str, name: str) -> BenchmarkParameters:
    try:
        return BenchmarkParameters.model_validate({**benchmark_entry(name), "name": name})
    except ValidationError as error:
        first = error.errors()[0]
        where = f"{location}/{BASE}/parameters/benchmarks/{name}.yml, {'.'.join(map(str, first['loc']))}"
        raise CoattendError(first["msg"], where=where, cure="The fields are in coattend/config") from None


def answerable_tasks(name: str) -> tuple[str, ...]:
    """Tasks of the heads that can answer a benchmark's questions.

    Raises:
        CoattendError: If there is no such benchmark, or its file is wrong.
    """
    return benchmark(name).answerable


def reader_names() -> list[str]:
    """Names of all readers: the registry's, and the files of ``parameters/readers``."""
    return sorted({*readers.names(), *_entries("readers")})


def reader_entry(name: str) -> Entry:
    """Look up a reader's parameters, with the wiring of the current environment.

    A reader that is called by its parts, such as ``transformer+coattention``, needs no file.

    Raises:
        CoattendError: If there is no such reader, part or encoder.
    """
    check_reader(name)
    wiring = current().readers.get(name, {})
    if "encoder" in wiring:
        encoder_entry(wiring["encoder"], where=f"readers.{name}.encoder of the environment")
    return complete_reader(name, _entries("readers").get(name)) | wiring


def check_reader(name: str) -> None:
    """Refuse the name of a reader that is neither registered nor made of parts that are.

    Raises:
        CoattendError: With the nearest name.
    """
    if name in _entries("readers") or name in readers.names():
        return
    if JOIN not in name:
        raise CoattendError(f"there is no reader {name!r}", cure=did_you_mean(name, reader_names()))
    readers.heads_of(name)


def complete_reader(name: str, entry: Entry | None) -> Entry:
    """Add the names that a reader's entry may leave out."""
    return {"name": name, "reader": name} | (entry or {})


def tagging_names() -> list[str]:
    """Names of all tagging profiles."""
    return sorted(_file_of("text")["taggings"])


def encoder_entry(name: str, *, where: str | None = None) -> Entry:
    """Look up an encoder's parameters.

    Args:
        name: Its name.
        where: The parameter that names it; None: the file of encoders.

    Raises:
        CoattendError: If there is no such encoder.
    """
    encoders = _file_of("encoders")["encoders"]
    if name not in encoders:
        file = f"{current().location}/{BASE}/parameters/encoders.yml"
        raise CoattendError(
            f"no encoder is called {name!r}", where=where or file, cure=did_you_mean(name, list(encoders))
        )
    entry: Entry = encoders[name]
    return entry


def text_profiles(entry: Entry) -> TextProfiles:
    """The profiles of a reader's entry, with the defaults of the fields that it leaves out."""
    fields = ReaderParameters.model_fields
    encoder = entry.get("encoder", fields["encoder"].default)
    return TextProfiles(
        tagging=entry.get("tagging", fields["tagging"].default),
        encoder=encoder,
        tokenizer=encoder_entry(encoder).get("tokenizer", EncoderParameters.model_fields["tokenizer"].default),
        reads_words=readers.encoder_of(entry["reader"]) == "recurrent",
    )


def forget() -> None:
    """Read the files anew at their next use: they have changed."""
    for cached in (_benchmark, _read_entries, _read_file):
        cached.cache_clear()


def _entries(block: str) -> dict[str, Entry]:
    return _read_entries(current().location, block)


@cache
def _read_entries(location: str, block: str) -> dict[str, Entry]:
    entries: dict[str, Entry] = {}
    for file in files(location, BASE, f"parameters/{block}"):
        content = load_yaml(file) or {}
        if not isinstance(content, dict) or list(content) != [block] or file.stem not in (content[block] or {}):
            raise CoattendError(
                f"must hold one key {block!r} with an entry {file.stem!r}", where=str(file), cure="Name it as its file"
            )
        entries |= content[block]
    return entries


def _file_of(stem: str) -> Entry:
    return _read_file(current().location, stem)


@cache
def _read_file(location: str, stem: str) -> Entry:
    for file in files(location, BASE, "parameters"):
        if file.stem == stem:
            return load_yaml(file) or {}
    raise CoattendError(
        "does not exist", where=f"{location}/{BASE}/parameters/{stem}.yml", cure="Name a folder with --conf-source"
    )
